// Statistics of a selected window of many series, and the latest values of many.
//
// Everything is exact. A statistic that would need more than `max_points` points is left out
// (nullopt), as is a deviation over damaged points; the integral and quantiles are then estimated
// between bounds. Statistics are over finite values; NaN and infinities are counted. min and max
// stand at their first occurrence in order of arrival; first and last are by x. The deviation is
// the sample's (n - 1), over the points, in two passes; it says nothing about repetitions. The
// integral and the time-weighted mean are those of query/series/integral.h, over a window of time.
// Sources: one PointView; its thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.h"
#include "query/series/axis_cells.h"
#include "query/series/cursor.h"
#include "query/series/integral.h"
#include "query/series/quantile.h"
#include "store/model/point_view.h"

namespace corral::query {

struct PlacedValue {
  double value = 0;
  std::optional<std::int64_t> time;  // UTC, ns; nullopt: it is damaged, the value is not
  std::optional<std::int64_t> step;
  bool operator==(const PlacedValue&) const = default;
};

struct WindowRequest {
  std::vector<SeriesInput> series;
  GridAxis axis = GridAxis::kTime;
  std::int64_t from = 0, to = 0;           // half open
  std::vector<double> probabilities = {};  // quantiles wanted
  bool deviation = true;
  bool integral = true;
  IntegralOptions integral_options = {};  // its max_points is overruled by the one below
  std::uint64_t max_points = 10'000'000;
};

struct WindowStatistics {
  SeriesId id;
  std::uint64_t count = 0;       // finite
  std::uint64_t not_finite = 0;  // 0 of rates: a sample without one is none
  double sum = 0;
  std::optional<double> mean;
  std::optional<PlacedValue> min, max, first, last;
  std::optional<double> deviation;  // needs two points, all of them readable
  std::optional<IntegralCell> integral;
  bool integral_exact = false;
  SeriesQuantiles quantiles;
  Lost lost;  // points that any of these lacks
};

// kInvalidArgument: empty window, a probability outside [0, 1].
Result<std::vector<WindowStatistics>> window_statistics(store::PointView& view,
                                                        const WindowRequest& request);

// The newest finite value (or rate) of each series, by time, then order of arrival; nullopt: there
// is none. Opens one bucket per level and one vector, as a rule. The origins do not matter.
Result<std::vector<std::optional<PlacedValue>>> latest_values(const store::Reader& store,
                                                              std::span<const SeriesInput> series);
Result<std::optional<PlacedValue>> latest_value(store::PointView& view, const SeriesInput& input);

}  // namespace corral::query
