// Work that takes a known amount of the processor: a stand-in for a training, and a burner that
// must be found out.
#pragma once

#include <span>

namespace corral::cli {

// `corral bench loop STEPS`: so many steps of the same work, about a millisecond each, in one
// thread; their times go where $CORRAL_BENCH_STEPS says.
int bench_loop(std::span<char* const> args);

// `corral bench burn SHARE`: burns that share of one processor until it is ended by a signal.
int bench_burn(std::span<char* const> args);

}  // namespace corral::cli
