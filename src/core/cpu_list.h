// Lists of CPUs as the kernel writes them: "0-3,8,10-11". Also lists of NUMA nodes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral {

// No CPU has this number or a higher one: as many as Linux can have at most (NR_CPUS).
constexpr int kMostCpus = 8192;

// Returns the CPUs in ascending order, each once; an empty text is an empty list. kInvalidArgument
// for anything else.
Result<std::vector<int>> parse_cpu_list(std::string_view text);
// `cpus` ascend.
std::string format_cpu_list(std::span<const int> cpus);

}  // namespace corral
