#include "collect/tree/hardware_counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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

int open_event(const HardwareEvent& event, pid_t child, bool user_mode_only) {
  perf_event_attr attr{};
  attr.type = event.type;
  attr.size = sizeof attr;
  attr.config = event.config;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.disabled = 1;
  attr.inherit = 1;
  attr.enable_on_exec = 1;
  attr.exclude_kernel = user_mode_only ? 1 : 0;
  attr.exclude_hv = user_mode_only ? 1 : 0;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

bool is_refusal(int error) { return error == EACCES || error == EPERM; }

std::string reason_of(int error) {
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
    counter.fd.reset(open_event(events[i], child, counters.user_mode_only_));
    if (!counter.fd && is_refusal(errno) && !counters.user_mode_only_) {
      counter.fd.reset(open_event(events[i], child, true));
      counters.user_mode_only_ = counter.fd.valid();
    }
    if (!counter.fd) counter.reason = reason_of(errno);
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

}  // namespace corral::collect
