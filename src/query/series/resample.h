// Resampling: many series to one summary per column of a shared grid, over time, time relative to
// something, or step; from full data.
//
// kExact: every point counts in its own column. Buckets that lie wholly in one column are used;
// points are read if a border cuts the bucket. kAligned: buckets of at most half a column (the
// shortest buckets: a whole one) go whole to the column of their first point. The work is bounded:
// about 8 buckets per column and series, or at most 256 points per column if there are fewer. The
// borders of the whole grid are exact in both. NaN and infinities are counted and enter nothing
// else. On the step axis points without a step are ignored. Rate channel: values are rates per
// second, and points that have none count as not finite. Sources: pyramids, blocks, recent points
// of one PointView; its thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/result.h"
#include "query/series/axis_cells.h"
#include "query/series/cursor.h"
#include "store/model/point_view.h"

namespace corral::query {

enum class Exactness : std::uint8_t { kAligned, kExact };

// Unit of values: the series' own. With count == 0 the rest but not_finite is 0.
struct Cell {
  std::uint64_t count = 0;  // finite points
  std::uint64_t not_finite = 0;
  double sum = 0, min = 0, max = 0;
  // The first and last finite point by x; at equal x by order of arrival. kAligned: buckets are
  // ordered by their first points.
  double first = 0, last = 0;

  [[nodiscard]] double mean() const {
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
  }
  bool operator==(const Cell&) const = default;
};

struct ResampleRequest {
  std::vector<SeriesInput> series;
  AxisGrid grid;
  Exactness exactness = Exactness::kExact;
  bool ends = true;  // first and last; without them exact answers over long columns cost less
  // Ascending: the columns instead of the grid's, of which only the axis counts; UTC or steps.
  std::vector<std::int64_t> borders = {};
};

struct ResampledSeries {
  SeriesId id;
  std::vector<Cell> cells;                          // one per column, empty ones too
  bool exact = false;                               // every point is in its own column
  std::uint64_t from_buckets = 0, from_points = 0;  // points that were counted so
  Lost lost;
};

// kInvalidArgument: the grid, or borders of no column or too many; other errors are the view's. An
// unknown series is empty.
Result<std::vector<ResampledSeries>> resample(store::PointView& view,
                                              const ResampleRequest& request);

}  // namespace corral::query
