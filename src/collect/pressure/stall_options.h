// Thresholds of stalls that are worth an event: section [pressure] of corral.toml.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace corral::collect {

inline constexpr std::array<std::string_view, 3> kPressureResources{"cpu", "memory", "io"};

struct StallOptions {
  std::vector<std::string> resources{kPressureResources.begin(), kPressureResources.end()};
  // Some task was stalled for so long within the window.
  Nanos stall{std::chrono::milliseconds(150)};
  Nanos window{std::chrono::seconds(1)};  // 500 ms to 10 s, the kernel's limits
};

// Names the option that is wrong: "window: ...".
Result<> check(const StallOptions& options);

}  // namespace corral::collect
