#include <fmt/core.h>

#include <cstdio>

#include "cli/command.h"

namespace corral::cli {

int diff_command(std::span<char* const>) {
  fmt::print(stderr, "corral diff: not there yet\n");
  return kFailed;
}

}  // namespace corral::cli
