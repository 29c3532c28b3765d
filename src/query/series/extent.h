// The number of a series' points in a range, the extent of all of them, and the range that a chart
// or a line covers when its request leaves ends out.
#pragma once

#include <cstdint>
#include <optional>

#include "core/ids.h"
#include "core/result.h"
#include "query/series/axis_cells.h"
#include "query/series/cursor.h"
#include "store/model/point_view.h"

namespace corral::query {

// About how many points lie in [from, to): whole buckets of 256 count where a border cuts them.
Result<std::uint64_t> count_points(Cursor& cursor, GridAxis axis, std::int64_t from,
                                   std::int64_t to);

struct Extent {
  std::int64_t first = 0, last = 0;  // UTC in ns, or steps; both belong to it
};
// The extent of all points of a series; nullopt: there is none (with a step). Damaged parts are
// skipped.
Result<std::optional<Extent>> find_extent(store::PointView& view, SeriesId series, GridAxis axis);

// Half open.
struct Range {
  std::int64_t from = 0, to = 1;
};

// The range over the data of several series, each relative to its origin. An extent that int64
// cannot hold relative to its origin is skipped.
class DataRange {
 public:
  void add(const Extent& extent, std::int64_t origin);
  // [0, 1) if nothing was added.
  [[nodiscard]] Range range() const { return range_.value_or(Range{}); }

 private:
  std::optional<Range> range_;
};

// `data` with the ends that a request gives, never empty: where a single end lies beyond the data,
// one unit there. If both are given, from < to.
Range range_between(std::optional<std::int64_t> from, std::optional<std::int64_t> to, Range data);

}  // namespace corral::query
