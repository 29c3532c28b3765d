// Ranks elsewhere: a command that starts processes on other hosts, where this run's spool is not.
//
// Pure but for host files and $PBS_NODEFILE, which are read.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace corral::run {

// Value of an environment variable; empty: not set.
using Variable = std::function<std::string(const char* name)>;

// A warning for a person; empty: every rank starts on `host`, as far as the command says.
std::string ranks_elsewhere(const std::vector<std::string>& command, const std::string& host,
                            const Variable& variable);

}  // namespace corral::run
