// HardwareCounters: the processor's own counters (PMU) for a whole process tree, exited processes
// included: instructions, cycles, cache misses, stalls.
//
// Opened with PerfCounters, on the child before its exec. A processor has few counters: where more
// events are asked for, the kernel lets them take turns, and a value is scaled up by the share of
// the time in which its event was counted; share() says how large that was. If the kernel allows no
// more, only user mode is counted. Reading costs about 1 us each. Movable; one thread at a time.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sys/fd.h"

namespace corral::collect {

struct HardwareEvent {
  std::string_view metric;
  std::uint32_t type;  // type in perf_event_attr
  std::uint64_t config;
};
inline constexpr std::size_t kHardwareEvents = 6;
std::span<const HardwareEvent, kHardwareEvents> hardware_events();

// The result of reading an event, times in nanoseconds.
struct PmuReading {
  std::uint64_t value = 0;
  std::uint64_t enabled = 0;
  std::uint64_t running = 0;
};
// The value scaled to all of the time; nothing when the event was never counted though the run ran.
std::optional<double> scaled(const PmuReading& reading);

class HardwareCounters {
 public:
  HardwareCounters() = default;  // nothing is counted, without a reason
  static HardwareCounters open(
      pid_t child, std::span<const HardwareEvent, kHardwareEvents> events = hardware_events());

  // Reads all events; values and share() are of this read.
  void read();
  // Never falls, although a scaled value can.
  [[nodiscard]] std::optional<double> value(std::size_t event) const;
  // Least share of the time in which an event was counted: 1 when none had to wait for another.
  [[nodiscard]] std::optional<double> share() const { return share_; }

  [[nodiscard]] bool counts(std::size_t event) const { return counters_[event].fd.valid(); }
  [[nodiscard]] bool counts_anything() const;
  [[nodiscard]] bool user_mode_only() const { return user_mode_only_; }
  // Why an event is not counted; empty when it is.
  [[nodiscard]] const std::string& reason(std::size_t event) const {
    return counters_[event].reason;
  }

 private:
  struct Counter {
    sys::Fd fd;
    std::string reason;
    double greatest = 0;
    bool read = false;
  };
  std::array<Counter, kHardwareEvents> counters_;
  std::optional<double> share_;
  bool user_mode_only_ = false;
};

}  // namespace corral::collect
