// Tells systemd that a service is ready, alive, or stopping (sd_notify(3)). Outside of a
// unit of Type=notify nothing happens.
#pragma once

#include <optional>
#include <string_view>

#include "core/time.h"

namespace corral::sys {

// `state`: lines such as "READY=1". Never blocks; any thread. Returns true if it was sent.
bool tell_service_manager(std::string_view state);

// The longest time between two "WATCHDOG=1" that the service manager waits; nullopt: it wants none.
std::optional<Nanos> watchdog_interval();

}  // namespace corral::sys
