// Health of a run: what its capture, listeners and sources could and could not see, told as events
// (docs/health.md) so that "nothing happened" and "nothing was seen" are never the same.
//
// A health event has the name "health", the origin "corral" and the attributes part, state and
// reason. A part is a dotted name: "capture.torch.optimizer", "listener.nvidia",
// "source.exec.power".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/frame.h"
#include "core/time.h"

namespace corral::codec {

enum class HealthState : std::uint8_t {
  kActive,       // in place; what it measures is recorded
  kPartial,      // some of it is missing, or is missing for now
  kGivenUp,      // it failed: nothing of it is recorded from then on
  kNotCaptured,  // it is there, but nothing of it can be seen here
};

inline constexpr auto kHealthStates = std::to_array<std::string_view>(
    {"active", "partial", "given up", "not captured"});  // by HealthState
inline constexpr std::string_view kHealthEvent = "health";
// The name by which a training process tells one; it becomes a health event when it is read.
inline constexpr std::string_view kProcessHealthEvent = "corral.health";

struct Health {
  std::string part;
  HealthState state = HealthState::kActive;
  std::string reason = {};  // empty when active
  bool operator==(const Health&) const = default;
};

Event health_event(BootTime time, const Health& health);
// The health that an event's attributes tell; nullopt where they tell none.
std::optional<Health> health_of(const Attributes& attributes);

}  // namespace corral::codec
