// The time-weighted mean of a series over several spans of time, such as the spans in which a run
// was alone.
//
// Integrates as query/series/integral.h does, over all spans together. At most kMostSpans spans
// count, the longest ones. `covered` is the number of seconds for which there were points. Sources:
// one PointView; its thread.
#pragma once

#include <optional>
#include <span>

#include "analyze/sharing.h"
#include "query/series/integral.h"

namespace corral::analyze {

inline constexpr std::size_t kMostSpans = 256;

struct IntervalMean {
  double integral = 0;  // unit * s
  double covered = 0;   // s
  [[nodiscard]] std::optional<double> mean() const {
    return covered > 0 ? std::optional(integral / covered) : std::nullopt;
  }
  void add(const IntervalMean& other) {
    integral += other.integral;
    covered += other.covered;
  }
};

Result<IntervalMean> interval_mean(store::PointView& view, const query::SeriesInput& input,
                                   std::span<const TimeSpan> spans);

}  // namespace corral::analyze
