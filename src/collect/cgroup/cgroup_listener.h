// Listener "cgroup": the control group that the run's first process is in when it starts: its CPU
// time, quota and throttling, memory, I/O, tasks and pressure. Other processes in that group count,
// too.
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_cgroup_listener(const ListenerContext& context, SeriesTable& table);

}  // namespace corral::collect
