// Placement: the cgroups and CPUs of the command, set while it waits before its exec.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "core/result.h"
#include "sys/file.h"

namespace corral::run {

struct Placement {
  std::vector<sys::fs::path> groups;  // cgroups: one, or one of each v1 hierarchy
  std::vector<int> cpus;              // ascending; empty: as inherited
};

// "/sys/fs/cgroup/a", or several separated by ":".
Result<std::vector<sys::fs::path>> parse_groups(std::string_view text);

// Groups first: a cpuset would widen an affinity that was set before.
Result<> place(pid_t pid, const Placement& placement);

// Returns how many processes the kernel has killed in these groups for lack of memory; 0 if
// unknown.
std::uint64_t count_oom_kills(const std::vector<sys::fs::path>& groups);
// The same for the whole machine.
std::uint64_t host_oom_kills();

}  // namespace corral::run
