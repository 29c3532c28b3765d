// reduce: one series of a PointView to the M4 columns of a pixel width, aligned or exact.
//
// Both descend the pyramid from its top. A bucket that lies wholly in one column is taken whole. A
// bucket that a border cuts is descended: an exact answer goes down to the points, an aligned one
// stops at buckets no wider than a part of a column. All points inside the range are counted, and
// none outside of it. Damage is a part of the answer, never an error. Reads only the view; one
// thread per view.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ids.h"
#include "core/result.h"
#include "query/chart/m4/answer.h"
#include "store/model/point_view.h"

namespace corral::query::m4 {

// Bounds of the work. An aligned answer gets coarser when it meets one; an exact one that does is
// given up for an aligned one.
struct Limits {
  std::uint32_t buckets_per_column = 4;  // at least, in an aligned answer
  std::uint64_t judged_per_column = 96;  // buckets looked at
  std::uint64_t points_per_column = 256;
  std::uint64_t exact_points = std::uint64_t{1} << 26;
  std::uint32_t segments = 256;
};

struct Request {
  SeriesId series;
  ChartAxis axis = ChartAxis::kTime;
  bool rate = false;
  bool exact = false;
  // Half open, in ns of UTC (also of a relative axis) or steps.
  std::int64_t from = 0, to = 1;
  std::uint32_t width = 1;
  std::int64_t origin = 0;  // taken off the answer's x
  Limits limits;
};

// kIo and the like of the view.
Result<ChartSeries> reduce(store::PointView& view, const Request& request);

}  // namespace corral::query::m4
