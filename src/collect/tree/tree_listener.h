// Listener "tree": the run's own processes. Perf software events at every tick, a walk over the
// processes once a second.
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_tree_listener(const ListenerContext& context, SeriesTable& table);

}  // namespace corral::collect
