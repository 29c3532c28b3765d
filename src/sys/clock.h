// Reading the clocks. Clock is the seam for tests that need to say what time it is.
#pragma once

#include "core/time.h"

namespace corral::sys {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual BootTime now() = 0;
  // Sleeps until `deadline` (CLOCK_BOOTTIME-based, survives suspend) or a signal; true when the
  // deadline has passed.
  virtual bool sleep_until(BootTime deadline) = 0;
};

// The machine's clock; thread-safe, lives for ever.
Clock& system_clock();

BootTime boot_now();
UtcTime utc_now();
// utc - boot, taken as the tightest of several bracketed reads; `error` is half that bracket.
ClockAnchor read_anchor();
// CPU time of the calling thread and of the whole process.
Nanos thread_cpu_time();
Nanos process_cpu_time();

}  // namespace corral::sys
