#include "collect/nvidia/energy_check.h"

#include <algorithm>
#include <cmath>

namespace corral::collect::nvidia {

bool EnergyCheck::Comparison::agrees() const {
  const double larger = std::max(counter_joules, integral_joules);
  return std::abs(counter_joules - integral_joules) <= kTolerance * larger;
}

void EnergyCheck::begin(BootTime now, double watts, double joules) {
  start_ = last_ = now;
  first_joules_ = last_joules_ = joules;
  last_watts_ = watts;
  integral_ = 0;
  begun_ = true;
}

std::optional<EnergyCheck::Comparison> EnergyCheck::add(BootTime now, double watts, double joules) {
  if (std::isnan(watts) || std::isnan(joules)) {
    begun_ = false;
    return std::nullopt;
  }
  if (!begun_ || now - last_ > kLongestGap || joules < last_joules_) {
    begin(now, watts, joules);
    return std::nullopt;
  }
  integral_ += (watts + last_watts_) / 2 * seconds(now - last_);
  last_ = now;
  last_watts_ = watts;
  last_joules_ = joules;
  if (now - start_ < kWindow) return std::nullopt;
  const Comparison window{.counter_joules = joules - first_joules_, .integral_joules = integral_};
  begin(now, watts, joules);
  return window;
}

}  // namespace corral::collect::nvidia
