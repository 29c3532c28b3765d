// Places of artifacts whose run, model, trace or experiment is gone (remove/remove.h notes them in
// the transaction that deletes the row).
//
// Free functions over the caller's snapshot or transaction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/model/transaction.h"

namespace corral::store::tracking {

struct RemovedArtifacts {
  std::int64_t id = 0;
  std::string location;  // as a run's artifact_uri
};
// Those with greater ids than `after`, ascending.
Result<std::vector<RemovedArtifacts>> removed_artifacts(Reading& reading, std::int64_t after,
                                                        std::int64_t limit);
// Deletes the notes of places that were removed, or that this server must not remove.
Result<> forget_removed_artifacts(Writing& writing, std::span<const std::int64_t> ids);

}  // namespace corral::store::tracking
