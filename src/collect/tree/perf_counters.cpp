#include "collect/tree/perf_counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/text.h"
#include "sys/file.h"

namespace corral::collect {
namespace {

constexpr std::array<std::uint64_t, kPerfEvents> kConfigs{
    PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
    PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ};

// Attempts to read a group while a process is ending; then each event is read by itself.
constexpr int kGroupReads = 3;

struct Spec {
  std::uint64_t config;
  bool exclude_kernel = false;
  bool leads = false;
  int group = -1;  // descriptor of its leader
};

int perf_open(const Spec& spec, pid_t child) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.config = spec.config;
  attr.read_format = spec.leads ? PERF_FORMAT_GROUP : 0;
  attr.disabled = 1;
  attr.inherit = 1;
  attr.enable_on_exec = 1;
  attr.exclude_kernel = spec.exclude_kernel ? 1 : 0;
  attr.exclude_hv = spec.exclude_kernel ? 1 : 0;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, child, -1, spec.group, PERF_FLAG_FD_CLOEXEC));
}

bool is_refusal(int error) { return error == EACCES || error == EPERM; }

std::string reason_of(int error) {
  if (!is_refusal(error)) return "perf_event_open: " + std::string(std::strerror(error));
  const auto level = sys::read_file("/proc/sys/kernel/perf_event_paranoid", 64);
  return "not allowed by the kernel (perf_event_paranoid is " +
         (level ? std::string(trim(*level)) : "unknown") +
         "; needs 1 or less, or CAP_PERFMON, and no seccomp filter in the way)";
}

}  // namespace

PerfCounters PerfCounters::open(pid_t child) {
  PerfCounters counters;
  counters.group_.reset(
      perf_open({.config = PERF_COUNT_SW_DUMMY, .exclude_kernel = true, .leads = true}, child));
  for (std::size_t i = 0; i < kPerfEvents; ++i) counters.open_event(i, child);
  counters.hardware_ = HardwareCounters::open(child);
  return counters;
}

void PerfCounters::open_event(std::size_t event, pid_t child) {
  Spec spec{.config = kConfigs[event], .group = group_.get()};
  sys::Fd& fd = fds_[event];
  fd.reset(perf_open(spec, child));
  const int error = errno;
  // Without the kernel's part the task clock still counts everything; the other events would
  // silently miss theirs.
  if (!fd && event == index(PerfEvent::kTaskClock) && is_refusal(error)) {
    spec.exclude_kernel = true;
    fd.reset(perf_open(spec, child));
  }
  grouped_[event] = fd.valid() && group_.valid();
  if (!fd && !is_refusal(error)) {
    spec.group = -1;
    fd.reset(perf_open(spec, child));
  }
  if (!fd) reasons_[event] = reason_of(error);
}

void PerfCounters::read() {
  values_.fill(std::nullopt);
  const bool by_group = read_group();
  for (std::size_t i = 0; i < kPerfEvents; ++i) {
    std::uint64_t value = 0;
    if (!fds_[i].valid() || (by_group && grouped_[i])) continue;
    if (::read(fds_[i].get(), &value, sizeof value) == sizeof value) values_[i] = value;
  }
}

bool PerfCounters::read_group() {
  // the number of events, the leader's value, the others' values
  std::array<std::uint64_t, kPerfEvents + 2> answer{};
  ssize_t size = group_.valid() ? -1 : 0;
  for (int i = 0; i < kGroupReads && size < 0; ++i)
    size = ::read(group_.get(), answer.data(), sizeof answer);
  const auto members = static_cast<std::uint64_t>(std::ranges::count(grouped_, true));
  if (size <= 0 || answer.front() != members + 1) return false;
  std::size_t next = 2;
  for (std::size_t i = 0; i < kPerfEvents; ++i) {
    if (grouped_[i]) values_[i] = answer[next++];
  }
  return true;
}

}  // namespace corral::collect
