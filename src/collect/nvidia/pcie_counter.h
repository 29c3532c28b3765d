// PcieCounter: bytes over PCIe from the driver's counter of them, which wraps.
//
// The driver says so without naming the width. Counters of 32 bits are added up: that is right only
// if at most one wrap lies between two readings, so the bandwidth of the link sets how often they
// must come. A counter of 64 bits is taken as it is, until it is seen to wrap at 32. One thread; no
// allocation.
#pragma once

#include <cstdint>

#include "collect/nvidia/nvml.h"
#include "core/time.h"

namespace corral::collect::nvidia {

class PcieCounter {
 public:
  // In which 32 bits are full at the link's full rate; of an unknown link the fastest there is.
  static Nanos shortest_wrap(const Nvml& nvml, Device device);
  static bool is_narrow(ValueType type);

  PcieCounter(bool narrow, Nanos shortest_wrap) : narrow_(narrow), shortest_wrap_(shortest_wrap) {}

  enum class Outcome : std::uint8_t {
    kCounted,
    kTooLate,  // no value; the count begins again at 0, which readers take for a reset
    kWraps,    // no values from now on: it has 64 bits and wraps at 32
  };
  Outcome add(BootTime now, double raw);
  [[nodiscard]] double total() const { return total_; }

 private:
  bool narrow_;
  Nanos shortest_wrap_;
  bool begun_ = false;
  bool wraps_ = false;
  BootTime last_time_{};
  double last_ = 0;
  double total_ = 0;
};

}  // namespace corral::collect::nvidia
