#include "collect/tree/perf_counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/text.h"
#include "sys/file.h"

namespace corral::collect {
namespace {

constexpr std::array<std::uint64_t, kPerfEvents> kConfigs{
    PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
    PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ};

int open_event(std::uint64_t config, pid_t child, bool exclude_kernel) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.config = config;
  attr.disabled = 1;
  attr.inherit = 1;
  attr.enable_on_exec = 1;
  attr.exclude_kernel = exclude_kernel ? 1 : 0;
  attr.exclude_hv = exclude_kernel ? 1 : 0;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string reason_of(int error) {
  if (error != EACCES && error != EPERM)
    return "perf_event_open: " + std::string(std::strerror(error));
  const auto level = sys::read_file("/proc/sys/kernel/perf_event_paranoid", 64);
  return "not allowed by the kernel (perf_event_paranoid is " +
         (level ? std::string(trim(*level)) : "unknown") +
         "; it takes 1 or less, or CAP_PERFMON, and no seccomp filter in the way)";
}

}  // namespace

PerfCounters PerfCounters::open(pid_t child) {
  PerfCounters counters;
  for (std::size_t i = 0; i < kPerfEvents; ++i) {
    counters.fds_[i].reset(open_event(kConfigs[i], child, false));
    if (counters.fds_[i]) continue;
    const int error = errno;
    // Without the kernel's part the task clock still counts everything; the other events would
    // silently miss theirs.
    if (i == index(PerfEvent::kTaskClock) && (error == EACCES || error == EPERM)) {
      counters.fds_[i].reset(open_event(kConfigs[i], child, true));
    }
    if (!counters.fds_[i]) counters.reasons_[i] = reason_of(error);
  }
  counters.hardware_ = HardwareCounters::open(child);
  return counters;
}

std::optional<std::uint64_t> PerfCounters::read(PerfEvent event) const {
  std::uint64_t value = 0;
  if (!counts(event) || ::read(fds_[index(event)].get(), &value, sizeof value) != sizeof value)
    return std::nullopt;
  return value;
}

}  // namespace corral::collect
