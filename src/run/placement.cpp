#include "run/placement.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "core/text.h"

namespace corral::run {
namespace {

// Value of the line "key value".
std::uint64_t read_counter(const sys::fs::path& file, std::string_view key) {
  const auto text = sys::read_file(file);
  if (!text) return 0;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.substr(0, blank) != key) continue;
    return static_cast<std::uint64_t>(parse_int(trim(line.substr(blank + 1))).value_or(0));
  }
  return 0;
}

Result<> set_affinity(pid_t pid, const std::vector<int>& cpus) {
  const int count = std::ranges::max(cpus) + 1;
  cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(count));
  if (set == nullptr) return fail(Code::kInternal, "no memory");
  const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
  CPU_ZERO_S(size, set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  const int done = ::sched_setaffinity(pid, size, set);
  const int error = errno;
  CPU_FREE(set);
  return done == 0 ? Result<>() : fail_errno("CPUs of the run", error);
}

}  // namespace

Result<std::vector<sys::fs::path>> parse_groups(std::string_view text) {
  std::vector<sys::fs::path> groups;
  for (const std::string_view part : split(text, ':')) {
    if (!part.starts_with('/'))
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}': expected an absolute directory", part));
    groups.emplace_back(part);
  }
  return groups;
}

Result<> place(pid_t pid, const Placement& placement) {
  const std::string text = std::to_string(pid);
  for (const sys::fs::path& group : placement.groups) {
    const sys::Fd file = TRY(sys::open_file(group / "cgroup.procs", O_WRONLY));
    const auto entered = sys::write_all(file.get(), text);
    if (!entered) return tl::unexpected(entered.error().with_context("group " + group.string()));
  }
  return placement.cpus.empty() ? Result<>() : set_affinity(pid, placement.cpus);
}

std::uint64_t count_oom_kills(const std::vector<sys::fs::path>& groups) {
  std::uint64_t kills = 0;
  for (const sys::fs::path& group : groups) {
    kills += read_counter(group / "memory.events", "oom_kill");
    kills += read_counter(group / "memory.oom_control", "oom_kill");
  }
  return kills;
}

std::uint64_t host_oom_kills() { return read_counter("/proc/vmstat", "oom_kill"); }

}  // namespace corral::run
