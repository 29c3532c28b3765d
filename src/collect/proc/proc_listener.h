// Listener "proc": the whole host. Nine kept-open files of /proc, read at every tick.
//
// CPUs, disks and interfaces are those that exist at open; one that goes away is missing from then
// on, one that comes later is recorded by the next run.
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_proc_listener(const ListenerContext& context, SeriesTable& table);

}  // namespace corral::collect
