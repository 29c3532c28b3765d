// The GPUs and GPU instances that a host engine knows, with the names that they have elsewhere.
//
// A GPU is called after NVML's index ("gpu0"), an instance after the MIG devices that belong to it
// ("gpu0.mig1"): the same source as that of listener "nvidia".
#pragma once

#include <string>
#include <vector>

#include "collect/dcgm/dcgm.h"
#include "collect/listener.h"

namespace corral::collect::dcgm {

struct FoundEntity {
  Entity entity;
  std::string source;
  std::string uuid;  // the GPU's
};
// Those that the context requests; unreachable ones are reported to the table.
std::vector<FoundEntity> find_entities(const Dcgm& dcgm, const ListenerContext& context,
                                       SeriesTable& table);

}  // namespace corral::collect::dcgm
