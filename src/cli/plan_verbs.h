// The verbs of `corral plan`, one function each, one table (plan.cpp). `args` without the verb.
#pragma once

#include <span>

namespace corral::cli {

int plan_check(std::span<char* const> args);
int plan_expand(std::span<char* const> args);
int plan_generate(std::span<char* const> args);

}  // namespace corral::cli
