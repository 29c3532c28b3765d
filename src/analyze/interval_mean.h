// The time-weighted mean of a series over several spans of time: what a metric was while a run was
// alone, or while it shared.
//
// That of query/series/integral.h, over all spans together. Of many spans the longest kMostSpans
// count; `covered` says over how many seconds there were points. Sources: one PointView; its
// thread.
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
