// Smoothing of many series on full data: one value per column of a grid over time or steps.
//
// Moving averages give the value at the last point of each column, over everything before it, also
// before the grid: the sum of weight * value over the sum of weights, which is TensorBoard's and
// W&B's debiasing. kTimeEma: a point that lies dx back weighs alpha^(dx / unit) (W&B's
// time-weighted EMA; on the step axis dx is in steps). kPointEma: the k-th point back weighs
// alpha^k (TensorBoard's). kGaussian and kRunningMean are centred on the middle of each column:
// points weighted by a Gaussian of standard deviation `width` cut off at 4 of them, or the plain
// mean of the points in [middle - width / 2, middle + width / 2). Points that are not finite do not
// exist here. A moving average begins anew at a step that goes back (a resumed run), and the later
// of two passes over a column stays. NaN: no value (no point in the column; for centred windows,
// none within 3 standard deviations or in the window).
//
// Up to `max_points` points every point is used. A Gaussian also needs at most 2^24 pairs of point
// and column in reach; else cells of a 16th of its width stand for their points. Beyond
// `max_points`, buckets are used if they are short against the weights' decay or far enough back,
// and `from_buckets` says so. A bucket counts as `count` evenly spaced points of its mean. Sources:
// one PointView; its thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "query/series/axis_cells.h"
#include "query/series/cursor.h"
#include "store/model/point_view.h"

namespace corral::query {

enum class Smoothing : std::uint8_t { kTimeEma, kPointEma, kGaussian, kRunningMean };

struct SmoothOptions {
  Smoothing kind = Smoothing::kTimeEma;
  double alpha = 0.9;                    // moving averages: in (0, 1)
  double unit = 1e9;                     // kTimeEma: x after which a point weighs alpha; positive
  double width = 0;                      // centred windows, in x; positive
  std::uint64_t max_points = 4'000'000;  // per series, within reach of the weights
};

struct SmoothRequest {
  std::vector<SeriesInput> series;
  AxisGrid grid;
  SmoothOptions options;
};

struct SmoothedSeries {
  SeriesId id;
  std::vector<double> values;  // one per column
  bool from_buckets = false;   // or from cells; else from every point
  bool in_order = true;  // false: moving average over points that overlap in time, in order of
                         // arrival, because they were more than max_points
  double width = 0;      // centred windows, as used: a Gaussian from cells is at least as wide
                         // as 16 of the 2^18 that the grid and its margins are cut into
  Lost lost;
};

// kInvalidArgument: the grid, alpha, unit or width.
Result<std::vector<SmoothedSeries>> smooth(store::PointView& view, const SmoothRequest& request);

}  // namespace corral::query
