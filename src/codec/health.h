// Health events: the health of a run's parts (metric/health.h) on its way to the store.
//
// Such an event has the name "health", the origin "corral" and the attributes part, state and
// reason.
#pragma once

#include <optional>
#include <string_view>

#include "codec/frame.h"
#include "core/time.h"
#include "metric/health.h"

namespace corral::codec {

using metric::Health;
using metric::HealthState;
using metric::kHealthStates;

inline constexpr std::string_view kHealthEvent = "health";
// The name of an event by which a training process reports its health; it becomes a health event
// when it is read.
inline constexpr std::string_view kProcessHealthEvent = "corral.health";

Event health_event(BootTime time, const Health& health);
// The health that an event's attributes tell; nullopt where they tell none.
std::optional<Health> health_of(const Attributes& attributes);

}  // namespace corral::codec
