// PerfCounters: the kernel's software events of a whole process tree, exited processes included.
//
// Opened by the supervisor on its child before the child's exec; they start at that exec and are
// inherited by every thread and process that comes of it. To read an event of a thread that runs
// takes an interrupt on its CPU, so all are read as one group, at once. Movable; one thread at a
// time. No PMU is needed but for hardware().
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

// HardwareCounters: the processor's own counters (PMU) for a whole process tree, exited processes
// included: instructions, cycles, cache misses, stalls.
//
// Opened with PerfCounters, on the child before its exec. A processor has few counters: where more
// events are asked for, the kernel lets them take turns, and a value is scaled up by the share of
// the time in which its event was counted; share() says how large that was. If the kernel allows no
// more, only user mode is counted. Reading costs about 1 us each. Movable; one thread at a time.
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

enum class PerfEvent : std::uint8_t {
  kTaskClock,
  kContextSwitches,
  kMigrations,
  kMinorFaults,
  kMajorFaults
};
inline constexpr std::size_t kPerfEvents = 5;

class PerfCounters {
 public:
  PerfCounters() = default;  // nothing is counted, without a reason
  // Never fails as a whole: an event that the kernel refuses has a reason instead. The fds are
  // close-on-exec.
  static PerfCounters open(pid_t child);

  // Reads all; values are of this read.
  void read();
  // Nanoseconds of CPU time, or a count; nothing when the event could not be opened or read.
  [[nodiscard]] std::optional<std::uint64_t> value(PerfEvent event) const {
    return values_[index(event)];
  }
  [[nodiscard]] bool counts(PerfEvent event) const { return fds_[index(event)].valid(); }
  // Why an event is not counted: "perf_event_paranoid is 3 ..."; empty when it is.
  [[nodiscard]] const std::string& reason(PerfEvent event) const { return reasons_[index(event)]; }
  // The processor's own events of the same tree.
  [[nodiscard]] HardwareCounters& hardware() { return hardware_; }

 private:
  static constexpr std::size_t index(PerfEvent event) { return static_cast<std::size_t>(event); }

  void open_event(std::size_t event, pid_t child);
  bool read_group();

  sys::Fd group_;  // counts nothing; the others are read by it
  std::array<sys::Fd, kPerfEvents> fds_;
  std::array<bool, kPerfEvents> grouped_{};
  std::array<std::optional<std::uint64_t>, kPerfEvents> values_;
  std::array<std::string, kPerfEvents> reasons_;
  HardwareCounters hardware_;
};

}  // namespace corral::collect
