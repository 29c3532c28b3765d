// Container end: how the command of a run ended whose supervisor is gone, as its container's tool
// says.
#pragma once

#include <optional>

#include "spool/run_directory.h"

namespace corral::run {

// The exit status; the container is then taken away. Nothing: no container, or nobody knows.
std::optional<int> container_end(const spool::Manifest& run);

}  // namespace corral::run
