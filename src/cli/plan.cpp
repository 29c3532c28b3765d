#include <fmt/core.h>

#include <cstdio>

#include "cli/command.h"

namespace corral::cli {

int plan_command(std::span<char* const>) {
  fmt::print(stderr, "corral plan: not there yet\n");
  return kFailed;
}

}  // namespace corral::cli
