#include <fmt/core.h>

#include <cstdio>

#include "cli/command.h"

namespace corral::cli {

int undo_command(std::span<char* const>) {
  fmt::print(stderr, "corral undo: not there yet\n");
  return kFailed;
}

}  // namespace corral::cli
