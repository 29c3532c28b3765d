// Time: int64 nanoseconds of two clocks that cannot be mixed up.
//
// Everything is recorded in CLOCK_BOOTTIME, which never goes back and keeps counting while the
// machine sleeps. Each session notes once where UTC stood (ClockAnchor); the server adds that
// offset when it answers. Reading the clocks is sys/clock.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace corral {

using Nanos = std::chrono::nanoseconds;

// CLOCK_BOOTTIME; no now() here: core does no I/O.
struct BootClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Nanos;
  using time_point = std::chrono::time_point<BootClock>;
  // NOLINTNEXTLINE(readability-identifier-naming): the standard's name
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;
using UtcTime = std::chrono::sys_time<Nanos>;

constexpr BootTime boot_time(std::int64_t ns) { return BootTime(Nanos(ns)); }
constexpr UtcTime utc_time(std::int64_t ns) { return UtcTime(Nanos(ns)); }
template <class Clock>
constexpr std::int64_t ns_of(std::chrono::time_point<Clock, Nanos> t) {
  return t.time_since_epoch().count();
}

// utc - boot of one session, with the greatest error that the three reads of the clocks allow.
struct ClockAnchor {
  Nanos utc_minus_boot{0};
  Nanos error{0};

  [[nodiscard]] constexpr UtcTime to_utc(BootTime t) const {
    return UtcTime(t.time_since_epoch() + utc_minus_boot);
  }
  bool operator==(const ClockAnchor&) const = default;
};

inline double seconds(Nanos d) { return static_cast<double>(d.count()) * 1e-9; }

// "2026-11-21T07:35:30.123Z"
std::string iso_utc(UtcTime t);
// "12.3 s", "4:05", "1:02:03", "2 d 3:04:05": for people.
std::string human_duration(Nanos d);
// The same with three digits below a minute: "1.25 s", "50.2 ms", "12 µs", "3 ns", "0 s".
std::string precise_duration(double seconds);
// Seconds as Nanos; beyond their range the nearest, and 0 for NaN.
Nanos nanos_of_seconds(double seconds);
// "250ms", "2s", "1.5m", "3h", "1d", or plain seconds; -1 when it is none of these.
Nanos parse_duration(std::string_view text);
inline constexpr Nanos kNoDuration{-1};

}  // namespace corral
