// Quantiles of the finite values of many series in a window of time or steps.
//
// The p-quantile of n sorted values v[0..n-1] is v at p (n - 1), between two values on the straight
// line through them (NumPy's default, Hyndman and Fan's type 7). Up to `max_points` points it is
// exact, by selection (8 bytes each are held). Beyond it is the quantile of a sample of about
// 2^18 points, one vector of 1,024 out of every few, kept between bounds that hold for all points
// for certain: no bucket that was left out has values outside its own min and max. Unit: the
// series' own. Sources: one PointView; its thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "query/series/axis_cells.h"
#include "query/series/cursor.h"
#include "store/model/point_view.h"

namespace corral::query {

struct QuantileRequest {
  std::vector<SeriesInput> series;
  GridAxis axis = GridAxis::kTime;
  std::int64_t from = 0, to = 0;      // half open
  std::vector<double> probabilities;  // each in [0, 1]
  std::uint64_t max_points = 10'000'000;
};

struct Quantile {
  double value = 0;            // NaN: no finite value
  double least = 0, most = 0;  // it lies between; equal to it when exact
};

struct SeriesQuantiles {
  SeriesId id;
  std::vector<Quantile> quantiles;  // as the probabilities
  bool exact = true;
  std::uint64_t count = 0;   // finite points in the window
  std::uint64_t sample = 0;  // points of `count` that were read
  Lost lost;                 // the bounds do not cover these
};

// kInvalidArgument: empty window, a probability outside [0, 1].
Result<std::vector<SeriesQuantiles>> quantiles(store::PointView& view,
                                               const QuantileRequest& request);

}  // namespace corral::query
