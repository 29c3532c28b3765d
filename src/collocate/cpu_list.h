// CPU lists as the kernel writes them: "0-3,8,10-11".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::collocate {

// Returns the CPUs in ascending order, each once; an empty text is an empty list. kInvalidArgument
// for anything else.
Result<std::vector<int>> parse_cpus(std::string_view text);
std::string format_cpus(const std::vector<int>& cpus);

}  // namespace corral::collocate
