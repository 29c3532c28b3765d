// Ranks elsewhere: warns of a command that starts processes on other hosts, which lack this run's
// spool.
//
// Pure but for host files and $PBS_NODEFILE, which are read.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace corral::run {

// Value of an environment variable; empty: not set.
using Variable = std::function<std::string(const char* name)>;

// Returns a warning for the user; empty: every rank starts on `host`, as far as the command shows.
std::string ranks_elsewhere(const std::vector<std::string>& command, const std::string& host,
                            const Variable& variable);

}  // namespace corral::run
