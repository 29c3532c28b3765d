// The verbs of `corral bench`, one function each, one table (bench.cpp). `args` without the verb.
#pragma once

#include <span>

namespace corral::cli {

int bench_listeners(std::span<char* const> args);

// Processes that bench_listeners() starts.

// `corral bench measure FILE COMMAND` runs the command, writes a Measurement to FILE and returns
// the command's exit status.
int bench_measure(std::span<char* const> args);

// `corral bench loop STEPS`, a stand-in for a training: so many steps of the same work, about a
// millisecond each, in one thread; their times go to the file $CORRAL_BENCH_STEPS.
int bench_loop(std::span<char* const> args);

// `corral bench burn SHARE`: burns that share of one processor until a signal ends it. The
// benchmark must detect it.
int bench_burn(std::span<char* const> args);

}  // namespace corral::cli
