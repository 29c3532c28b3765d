// The verbs of `corral bench` for people, one function each, one table (bench.cpp). `args` without
// the verb.
#pragma once

#include <span>

namespace corral::cli {

int bench_listeners(std::span<char* const> args);

}  // namespace corral::cli
