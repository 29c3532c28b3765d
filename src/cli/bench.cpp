#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "cli/bench_measure.h"
#include "cli/bench_verbs.h"
#include "cli/bench_work.h"
#include "cli/command.h"
#include "core/text.h"

namespace corral::cli {
namespace {

struct Verb {
  std::string_view name;
  int (*call)(std::span<char* const>);
};
// The last three are what the first starts as processes of their own.
constexpr std::array kVerbs = {
    Verb{"listeners", bench_listeners},
    Verb{"measure", bench_measure},
    Verb{"loop", bench_loop},
    Verb{"burn", bench_burn},
};

void print_help(std::FILE* out) {
  fmt::print(out,
             "Measures what measuring costs, on this machine (docs/overhead.md).\n\nUsage: corral "
             "bench listeners [OPTIONS] [-- COMMAND]\n\n  listeners  how much recording slows a "
             "training down, with other tools beside it\n\ncorral bench listeners --help says "
             "more.\n");
}

}  // namespace

int bench_command(std::span<char* const> args) {
  const std::string_view word = args.empty() ? "" : args[0];
  if (word == "--help" || word == "-h" || word == "help") {
    print_help(stdout);
    return kDone;
  }
  if (args.empty()) {
    print_help(stderr);
    return kMisuse;
  }
  const auto* const found = std::ranges::find(kVerbs, word, &Verb::name);
  if (found != kVerbs.end()) return found->call(args.subspan(1));
  fmt::print(stderr, "corral bench: '{}' is not a benchmark; there is: listeners\n",
             printable(word));
  return kMisuse;
}

}  // namespace corral::cli
