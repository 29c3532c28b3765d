// Ids of profiles that are asked for while a run is running. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/time.h"

namespace corral {

inline constexpr std::int64_t kMostProfileSteps = 1000;  // python/corral/_profile.py has the same

// "torch-2026-11-22T14.44.01.123Z"
std::string make_profile_id(std::string_view tool, UtcTime asked);
// Returns true if it may name files and a folder of a run's artifacts: 1 to 64 letters, digits, -
// and ., the first a letter.
bool is_profile_id(std::string_view id);

}  // namespace corral
