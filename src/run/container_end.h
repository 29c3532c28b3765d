// Container end: the end of a command whose supervisor is gone, as its container's tool reports it.
#pragma once

#include <optional>

#include "spool/run_directory.h"

namespace corral::run {

// Returns the exit status and removes the container. Nullopt: no container, or the status is
// unknown.
std::optional<int> container_end(const spool::Manifest& run);

}  // namespace corral::run
