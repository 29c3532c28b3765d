// Health: the coverage of a part of a run's recording, and its reason (docs/health.md). A part is a
// dotted name: "capture.torch.optimizer", "listener.nvidia", "source.exec.power".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace corral::metric {

enum class HealthState : std::uint8_t {
  kActive,       // in place; its values are recorded
  kPartial,      // some of it is missing, or is missing for now
  kGivenUp,      // it failed: nothing of it is recorded from then on
  kNotCaptured,  // it is there, but nothing of it can be seen here
};

inline constexpr auto kHealthStates = std::to_array<std::string_view>(
    {"active", "partial", "given up", "not captured"});  // by HealthState

struct Health {
  std::string part;
  HealthState state = HealthState::kActive;
  std::string reason = {};  // empty when active
  bool operator==(const Health&) const = default;
};

}  // namespace corral::metric
