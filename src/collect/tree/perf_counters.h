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
#include <string>
#include <string_view>

#include "collect/tree/hardware_counters.h"
#include "sys/fd.h"

namespace corral::collect {

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
