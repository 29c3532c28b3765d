// Listener "node": the host's memory management and its NFS mounts, beside listener "proc":
// reclaim, huge pages, NUMA nodes. Once a second.
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_node_listener(const ListenerContext& context, SeriesTable& table);

}  // namespace corral::collect
