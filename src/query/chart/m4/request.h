// What one reduction is asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ids.h"
#include "query/chart/m4/answer.h"

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

}  // namespace corral::query::m4
