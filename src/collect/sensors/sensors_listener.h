// Listener "sensors": temperatures, fans, power meters, CPU frequencies and thermal throttling,
// from /sys, once a second, because a sensor may sit behind a slow bus. GPUs are left to their own
// listeners. Drives are left alone too where asking could keep them from sleeping (drivetemp).
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_sensors_listener(const ListenerContext& context, SeriesTable& table);

}  // namespace corral::collect
