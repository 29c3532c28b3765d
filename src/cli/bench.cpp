#include <array>

#include "cli/bench_verbs.h"
#include "cli/command.h"
#include "cli/verbs.h"

namespace corral::cli {
namespace {

constexpr std::array kVerbs = {
    Verb{"listeners", "measure how much recording slows a training down", bench_listeners},
    // Processes that `listeners` starts.
    Verb{"measure", "", bench_measure},
    Verb{"loop", "", bench_loop},
    Verb{"burn", "", bench_burn},
};

constexpr std::string_view kHead =
    "Measures the overhead of recording on this machine (docs/overhead.md).\n\n"
    "Usage: corral bench listeners [OPTIONS] [-- COMMAND]\n\n";
constexpr std::string_view kFoot = "\ncorral bench listeners --help shows the options.\n";

}  // namespace

int bench_command(std::span<char* const> args) {
  return call_verb({.name = "corral bench", .head = kHead, .foot = kFoot, .verbs = kVerbs}, args);
}

}  // namespace corral::cli
