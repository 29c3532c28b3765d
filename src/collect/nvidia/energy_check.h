// EnergyCheck: does a device's energy counter agree with its power over time?
//
// Both come from the same sensor by different ways, and on some devices one of them is wrong. They
// are compared over windows long enough that the average's lag and the counter's steps do not
// matter. Pure.
#pragma once

#include <optional>

#include "core/time.h"

namespace corral::collect::nvidia {

class EnergyCheck {
 public:
  static constexpr Nanos kWindow = std::chrono::seconds(30);
  static constexpr Nanos kLongestGap = std::chrono::seconds(3);  // more: a new window begins
  static constexpr double kTolerance = 0.10;

  struct Comparison {
    double counter_joules;
    double integral_joules;
    [[nodiscard]] bool agrees() const;
  };
  // NaN is a value that is missing. A comparison at the end of each window.
  std::optional<Comparison> add(BootTime now, double watts, double joules);

 private:
  void begin(BootTime now, double watts, double joules);
  BootTime start_{};
  BootTime last_{};
  bool begun_ = false;
  double first_joules_ = 0;
  double last_joules_ = 0;
  double last_watts_ = 0;
  double integral_ = 0;
};

}  // namespace corral::collect::nvidia
