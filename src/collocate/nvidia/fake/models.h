// The MIG profiles and placements of the fake's GPUs, as the MIG user guide lists them for these
// products (placements in memory slices, of which there are 8).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collocate/nvidia/control_types.h"

namespace corral::collocate::nvidia::fake {

struct ModelProfile {
  unsigned number;  // NVML's
  unsigned id;      // id of the product
  std::string name;
  unsigned slices;  // compute slices
  unsigned most;
  unsigned long long memory_mib;
  std::vector<Placement> placements;
};

struct Model {
  std::string key;   // as in the state file
  std::string name;  // as the driver returns it
  unsigned long long memory_mib;
  unsigned default_power_mw;
  unsigned least_power_mw;
  unsigned highest_clock_mhz;  // highest clock of the SMs, in steps of 15 down to 210
  unsigned memory_clock_mhz;
  std::vector<ModelProfile> profiles;
};

// "a100-40", "a100-80", "h100", "h200"; "t4" has no MIG. Null for any other.
const Model* find_model(std::string_view key);

}  // namespace corral::collocate::nvidia::fake
