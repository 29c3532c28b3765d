// Places MIG instances on one GPU: requested profiles, and the driver's own profiles and placements
// -> an order of creation with a placement each, or the profiles that do not fit and the reason.
//
// Pure. The placements decide if profiles fit (3g + 2g + 2g fits only with 3g at the end), so all
// of them are tried; a GPU has at most 8 slices of memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collocate/nvidia/control_types.h"
#include "core/result.h"

namespace corral::collocate::nvidia {

// A profile of this driver on this GPU.
struct Profile {
  std::uint32_t id = 0;
  std::string name;          // "3g.20gb"
  std::uint32_t slices = 0;  // compute slices
  std::uint32_t most = 0;    // most instances on a GPU
  std::uint64_t memory_mib = 0;
  std::vector<Placement> placements{};  // in memory slices; includes occupied ones
};

// An existing instance, which stays.
struct Occupied {
  std::uint32_t profile = 0;
  Placement placement{};
};

struct WantedInstance {
  std::size_t run = 0;
  std::string profile;
};

struct PlacedInstance {
  std::size_t run = 0;
  std::uint32_t profile = 0;  // id
  Placement placement{};
  bool operator==(const PlacedInstance&) const = default;
};

// Returns the placements in order of creation: largest first, equal ones from the left. The error
// has a line for each profile that this GPU does not have, or names the first run that does not fit
// beside those before it, and the slices. `gpu` is "GPU 0 (NVIDIA A100-SXM4-40GB)".
Result<std::vector<PlacedInstance>> place(const std::vector<Profile>& profiles,
                                          const std::vector<Occupied>& there,
                                          const std::vector<WantedInstance>& wanted,
                                          std::string_view gpu);

// Returns "3g.20gb" for "MIG 3g.20gb" and for "NVIDIA A100-SXM4-40GB MIG 3g.20gb".
std::string profile_name(std::string_view driver_name);
// Returns the usual name of a profile, for a driver that gives no names: from compute slices and
// memory, and its number among NVML's profiles.
std::string profile_name(const ProfileInfoV1& info, std::uint32_t profile,
                         std::uint64_t gpu_memory_mib);

}  // namespace corral::collocate::nvidia
