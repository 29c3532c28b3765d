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

constexpr std::array<HardwareEvent, kHardwareEvents> kEvents{{
    {"run.pmu.instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"run.pmu.cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"run.pmu.cache_references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"run.pmu.cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"run.pmu.branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"run.pmu.stalled_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
}};

struct Spec {
  std::uint32_t type;
  std::uint64_t config;
  std::uint64_t read_format = 0;
  bool exclude_kernel = false;
  int group = -1;  // descriptor of its leader
};

// Opened on a child before its exec, at which it starts; inherited by all that comes of it.
int open_perf_event(const Spec& spec, pid_t child) {
  perf_event_attr attr{};
  attr.type = spec.type;
  attr.size = sizeof attr;
  attr.config = spec.config;
  attr.read_format = spec.read_format;
  attr.disabled = 1;
  attr.inherit = 1;
  attr.enable_on_exec = 1;
  attr.exclude_kernel = spec.exclude_kernel ? 1 : 0;
  attr.exclude_hv = spec.exclude_kernel ? 1 : 0;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, child, -1, spec.group, PERF_FLAG_FD_CLOEXEC));
}

bool is_refusal(int error) { return error == EACCES || error == EPERM; }

std::string hardware_reason(int error) {
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV || error == EINVAL) {
    return "the processor shows no such counter here; virtual machines often have none "
           "(perf_event_open: " +
           std::string(std::strerror(error)) + ")";
  }
  if (is_refusal(error))
    return "not allowed by the kernel (perf_event_paranoid of 2 or less, or CAP_PERFMON, and no "
           "seccomp filter in the way)";
  return "perf_event_open: " + std::string(std::strerror(error));
}

constexpr std::array<std::uint64_t, kPerfEvents> kConfigs{
    PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
    PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ};

// Attempts to read a group while a process is ending; then each event is read by itself.
constexpr int kGroupReads = 3;

std::string software_reason(int error) {
  if (!is_refusal(error)) return "perf_event_open: " + std::string(std::strerror(error));
  const auto level = sys::read_file("/proc/sys/kernel/perf_event_paranoid", 64);
  return "not allowed by the kernel (perf_event_paranoid is " +
         (level ? std::string(trim(*level)) : "unknown") +
         "; needs 1 or less, or CAP_PERFMON, and no seccomp filter in the way)";
}

}  // namespace

std::span<const HardwareEvent, kHardwareEvents> hardware_events() { return kEvents; }

std::optional<double> scaled(const PmuReading& reading) {
  const auto value = static_cast<double>(reading.value);
  if (reading.running >= reading.enabled) return value;
  if (reading.running == 0) return std::nullopt;
  return value * static_cast<double>(reading.enabled) / static_cast<double>(reading.running);
}

HardwareCounters HardwareCounters::open(pid_t child,
                                        std::span<const HardwareEvent, kHardwareEvents> events) {
  HardwareCounters counters;
  for (std::size_t i = 0; i < events.size(); ++i) {
    Counter& counter = counters.counters_[i];
    Spec spec{.type = events[i].type,
              .config = events[i].config,
              .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
              .exclude_kernel = counters.user_mode_only_};
    counter.fd.reset(open_perf_event(spec, child));
    if (!counter.fd && is_refusal(errno) && !spec.exclude_kernel) {
      spec.exclude_kernel = true;
      counter.fd.reset(open_perf_event(spec, child));
      counters.user_mode_only_ = counter.fd.valid();
    }
    if (!counter.fd) counter.reason = hardware_reason(errno);
  }
  return counters;
}

void HardwareCounters::read() {
  share_.reset();
  for (Counter& counter : counters_) {
    PmuReading reading;
    counter.read =
        counter.fd.valid() && ::read(counter.fd.get(), &reading, sizeof reading) == sizeof reading;
    if (!counter.read) continue;
    const double share = reading.enabled == 0
                             ? 1.0
                             : static_cast<double>(std::min(reading.running, reading.enabled)) /
                                   static_cast<double>(reading.enabled);
    share_ = std::min(share_.value_or(1.0), share);
    const auto value = scaled(reading);
    counter.read = value.has_value();
    counter.greatest = std::max(counter.greatest, value.value_or(0));
  }
}

std::optional<double> HardwareCounters::value(std::size_t event) const {
  const Counter& counter = counters_[event];
  if (!counter.read) return std::nullopt;
  return counter.greatest;
}

bool HardwareCounters::counts_anything() const {
  return std::ranges::any_of(counters_, [](const Counter& c) { return c.fd.valid(); });
}

PerfCounters PerfCounters::open(pid_t child) {
  PerfCounters counters;
  counters.group_.reset(open_perf_event({.type = PERF_TYPE_SOFTWARE,
                                         .config = PERF_COUNT_SW_DUMMY,
                                         .read_format = PERF_FORMAT_GROUP,
                                         .exclude_kernel = true},
                                        child));
  for (std::size_t i = 0; i < kPerfEvents; ++i) counters.open_event(i, child);
  counters.hardware_ = HardwareCounters::open(child);
  return counters;
}

void PerfCounters::open_event(std::size_t event, pid_t child) {
  Spec spec{.type = PERF_TYPE_SOFTWARE, .config = kConfigs[event], .group = group_.get()};
  sys::Fd& fd = fds_[event];
  fd.reset(open_perf_event(spec, child));
  const int error = errno;
  // Without the kernel's part the task clock still counts everything; the other events would
  // silently miss theirs.
  if (!fd && event == index(PerfEvent::kTaskClock) && is_refusal(error)) {
    spec.exclude_kernel = true;
    fd.reset(open_perf_event(spec, child));
  }
  grouped_[event] = fd.valid() && group_.valid();
  if (!fd && !is_refusal(error)) {
    spec.group = -1;
    fd.reset(open_perf_event(spec, child));
  }
  if (!fd) reasons_[event] = software_reason(error);
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
