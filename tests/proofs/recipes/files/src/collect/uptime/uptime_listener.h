// Listener "uptime": the seconds since the host booted, from /proc/uptime.
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_uptime_listener(const ListenerContext& context, SeriesTable& table);

}  // namespace corral::collect
