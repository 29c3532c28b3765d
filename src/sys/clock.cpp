#include "sys/clock.h"

#include <ctime>

namespace corral::sys {
namespace {

std::int64_t read(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

class SystemClock final : public Clock {
 public:
  BootTime now() override { return boot_now(); }
  bool sleep_until(BootTime deadline) override {
    const std::int64_t ns = ns_of(deadline);
    const timespec t{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    return ::clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &t, nullptr) == 0;
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

BootTime boot_now() { return boot_time(read(CLOCK_BOOTTIME)); }
UtcTime utc_now() { return utc_time(read(CLOCK_REALTIME)); }
Nanos thread_cpu_time() { return Nanos(read(CLOCK_THREAD_CPUTIME_ID)); }
Nanos process_cpu_time() { return Nanos(read(CLOCK_PROCESS_CPUTIME_ID)); }

ClockAnchor read_anchor() {
  ClockAnchor best{.utc_minus_boot = Nanos(0), .error = Nanos::max()};
  for (int i = 0; i < 8; ++i) {
    const std::int64_t before = read(CLOCK_BOOTTIME);
    const std::int64_t utc = read(CLOCK_REALTIME);
    const std::int64_t after = read(CLOCK_BOOTTIME);
    const Nanos error((after - before + 1) / 2);
    if (error < best.error)
      best = {.utc_minus_boot = Nanos(utc - before - (after - before) / 2), .error = error};
  }
  return best;
}

}  // namespace corral::sys
