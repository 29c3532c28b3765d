// Listener "sensors": temperatures, fans, power meters, CPU frequencies and thermal throttling,
// from /sys, once a second.
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_sensors_listener(const ListenerContext& context, SeriesTable& table);

}  // namespace corral::collect
