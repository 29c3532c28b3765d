// The possible range of a value of the catalogue. A listener that reads one outside of it lies (a
// broken sensor, a driver's word for "unknown"): the value is stored as read and counted.
//
// Follows from a metric's kind and unit, with exceptions by name, so that no metric is without one.
// Limits are generous: what hardware may do in years to come is inside. Metrics that are not in the
// catalogue have no range. Pure, any thread.
#pragma once

#include <string>

#include "metric/catalogue.h"

namespace corral::metric {

struct Range {
  double least;
  double most;  // the greatest double: any finite value from `least` on

  // False for a value that is not a number.
  [[nodiscard]] constexpr bool holds(double value) const { return value >= least && value <= most; }
};

Range plausible_range(const Metric& metric);

// "0 to 1 share", "at least 0 B".
std::string words(const Range& range, const Metric& metric);

}  // namespace corral::metric
