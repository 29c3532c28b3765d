// ThrottleTimes: the seconds for which each limit held a GPU's clocks down, added up from its
// firmware's counters.
//
// The firmware counts its own steps, and how many of them each limit took: a share, which the time
// between two tables makes seconds. Counts that went back (a reset) start again. One thread.
#pragma once

#include <optional>

#include "collect/amd/gpu_metrics.h"

namespace corral::collect::amd {

class ThrottleTimes {
 public:
  void add(const Residencies& now);

  // s since the first table
  double processor_hot = 0, power = 0, socket_thermal = 0, regulator_thermal = 0,
         memory_thermal = 0;

 private:
  std::optional<Residencies> last_;
};

}  // namespace corral::collect::amd
