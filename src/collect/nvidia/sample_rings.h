// SampleRings: values that the driver samples of one device by itself, more often than a caller
// should ask: power, utilization, clocks. It keeps the newest some 100 of each; they are drained
// once a second.
//
// Each sample keeps the time that the driver gave it, which is UTC: it is put on our clock by where
// UTC stood at this drain and the one before. None is given twice, and those of a ring in the order
// of their times. When the wall clock is put back, times mean two moments until it has caught up:
// the samples of that while, at most kAmbiguous, are left out. One thread; no allocation after
// open().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/nvidia/calls.h"
#include "collect/nvidia/nvml.h"
#include "collect/nvidia/queries.h"
#include "core/time.h"
#include "sys/clock.h"

namespace corral::collect::nvidia {

// Ours, and where the wall clock stands against it; for tests to say.
struct Clocks {
  sys::Clock* boot;           // outlives its users
  Nanos (*utc_minus_boot)();  // never null
};
Clocks clocks_on(sys::Clock& boot);

class SampleRings {
 public:
  // A greater change of UTC between two drains is a step of the wall clock.
  static constexpr Nanos kStep = std::chrono::milliseconds(100);
  static constexpr Nanos kAmbiguous = std::chrono::seconds(30);
  // After a longer pause in the requests, only the latest kAfterPause is used: others had the
  // device.
  static constexpr Nanos kPause = std::chrono::seconds(12);
  static constexpr Nanos kAfterPause = std::chrono::seconds(1);

  SampleRings(const Nvml& nvml, Device device, const Clocks& clocks)
      : nvml_(&nvml), device_(device), clocks_(clocks) {}
  // Declares the rings that the driver has; samples from now on are given.
  void open(CallMeter& meter, const QueryList::Subject& subject, SeriesTable& table);
  void drain(CallMeter& meter, DeviceHealth& health, Row& row);

 private:
  struct Ring {
    Sampled type;
    double scale;
    Column column;
    std::uint64_t last_us;  // UTC: later ones are to be given
    BootTime latest{};      // time of the latest point
  };
  // The result of one call.
  struct Answer {
    ValueType type{};
    unsigned count = 0;
  };
  Status read(const Ring& ring, CallMeter& meter, Answer& answer);
  void follow_wall_clock(BootTime now);
  void drain(Ring& ring, CallMeter& meter, DeviceHealth& health, Row& row);
  void add_points(Ring& ring, const Answer& answer, Row& row);
  [[nodiscard]] std::uint64_t utc_us(BootTime time) const;
  [[nodiscard]] BootTime to_boot_time(std::uint64_t sampled_us) const;

  const Nvml* nvml_;
  Device device_;
  Clocks clocks_;
  std::vector<Ring> rings_;
  std::vector<Sample> samples_;  // room for one call's
  Nanos utc_minus_boot_{0};
  BootTime drained_{};
  // At the drain before that.
  Nanos earlier_utc_minus_boot_{0};
  BootTime earlier_{};
};

}  // namespace corral::collect::nvidia
