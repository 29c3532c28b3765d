// CellWalk: brings a series to the cells of an axis, as whole buckets where these do and as points
// where they do not.
//
// Goes down the pyramid in order of arrival, then over the recent chunks. The sink says whether a
// bucket does; a bucket that is refused is opened, at the lowest level into points. Points without
// a step are left aside on the step axis, where only buckets of one block are offered. One virtual
// call per bucket row or vector, none per point. One thread.
//
// A sink has
//   bool takes(std::size_t cell, const codec::Bucket&, int level, bool whole);
//     cell: of the bucket's first x; whole: all of its points lie there. If not whole, it is inside
//     the cells' range.
//   void bucket(std::size_t cell, const codec::Bucket&, std::int64_t order);
//     order: number of its first point
//   void points(std::size_t cell, const PointSpan&);
//     ascending on the axis, all in the cell
#pragma once

#include <algorithm>

#include "query/series/axis_cells.h"
#include "query/series/series_levels.h"

namespace corral::query {

struct CellWalkOptions {
  GridAxis axis = GridAxis::kTime;
  int max_level = kTopLevel;  // of buckets
  bool times = false;         // the sink needs times on the step axis
};

// Cuts spans of points at the cells' borders.
template <class Sink>
class CellCut {
 public:
  CellCut(const AxisCells& cells, GridAxis axis, Sink& sink)
      : cells_(cells), sink_(sink), steps_(axis == GridAxis::kStep) {}

  void give(const PointSpan& span) {
    const auto xs = steps_ ? span.steps : span.times;
    for (std::size_t first = 0; first < xs.size();) {
      std::size_t last = xs.size();
      if (steps_) {
        last = first + 1;
        while (last < xs.size() && xs[last - 1] <= xs[last]) ++last;
      }
      give_ascending(span, xs, first, last);
      first = last;
    }
  }

 private:
  void give_ascending(const PointSpan& span, std::span<const std::int64_t> xs, std::size_t first,
                      std::size_t last) {
    const auto below = [&](std::size_t begin, std::int64_t border) {
      const auto from = xs.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto to = xs.begin() + static_cast<std::ptrdiff_t>(last);
      return static_cast<std::size_t>(std::lower_bound(from, to, border) - xs.begin());
    };
    if (xs[first] < cells_.begin()) first = below(first, cells_.begin());
    while (first < last && xs[first] < cells_.end()) {
      const std::size_t cell = hint_ = cells_.find(xs[first], hint_);
      const std::int64_t end = cells_.end(cell);
      const std::size_t next = xs[last - 1] < end ? last : below(first, end);
      sink_.points(cell, span.part(first, next - first));
      first = next;
    }
  }

  const AxisCells& cells_;
  Sink& sink_;
  bool steps_;
  std::size_t hint_ = 0;
};

template <class Sink>
class CellWalk {
 public:
  CellWalk(SeriesLevels& levels, const AxisCells& cells, CellWalkOptions options, Sink& sink)
      : levels_(levels), cells_(cells), sink_(sink), cut_(cells, options.axis, sink) {
    steps_ = options.axis == GridAxis::kStep;
    max_level_ = steps_ ? std::min(options.max_level, kBlockLevel) : options.max_level;
    parts_ = {.times = !steps_ || options.times, .steps = steps_};
  }

  Result<> run() {
    if (levels_.in_blocks() > 0) {
      int top = 0;
      while (top < max_level_ && bucket_points(top + 1) <= levels_.in_blocks()) ++top;
      const std::int64_t size = bucket_points(top);
      for (std::int64_t no = 0; no * size < levels_.in_blocks(); ++no) TRY(visit(top, no));
    }
    for (std::size_t i = 0; i < levels_.chunks(); ++i) cut_.give(levels_.chunk(i, parts_));
    return {};
  }

 private:
  Result<> visit(int level, std::int64_t no) {
    const std::int64_t order = no * bucket_points(level);
    if (order >= levels_.in_blocks()) return {};
    const codec::Bucket* bucket = nullptr;
    if (order + bucket_points(level) <= levels_.in_blocks())
      bucket = TRY(levels_.bucket(level, no));
    if (bucket != nullptr && settled(*bucket, level, order)) return {};
    if (level == 0) {
      cut_.give(TRY(levels_.read(order, codec::kBucketPoints, parts_)));
      return {};
    }
    for (std::int64_t child = 0; child < codec::kFanOut; ++child)
      TRY(visit(level - 1, no * codec::kFanOut + child));
    return {};
  }

  // Taken, or without a point in the range.
  bool settled(const codec::Bucket& bucket, int level, std::int64_t order) {
    const std::int64_t x0 = steps_ ? bucket.s0 : bucket.t0;
    const std::int64_t x1 = steps_ ? bucket.s1 : bucket.t1;
    if (x0 > x1 || x1 < cells_.begin() || x0 >= cells_.end()) return true;
    if (x0 < cells_.begin() || x1 >= cells_.end()) return false;
    const std::size_t cell = hint_ = cells_.find(x0, hint_);
    if (!sink_.takes(cell, bucket, level, x1 < cells_.end(cell))) return false;
    sink_.bucket(cell, bucket, order);
    return true;
  }

  SeriesLevels& levels_;
  const AxisCells& cells_;
  Sink& sink_;
  CellCut<Sink> cut_;
  bool steps_ = false;
  int max_level_ = kTopLevel;
  PointParts parts_;
  std::size_t hint_ = 0;
};

template <class Sink>
Result<> walk_cells(SeriesLevels& levels, const AxisCells& cells, CellWalkOptions options,
                    Sink& sink) {
  return CellWalk<Sink>(levels, cells, options, sink).run();
}

// About how many points lie in [from, to): whole buckets of 256 count where a border cuts them.
Result<std::uint64_t> count_points(SeriesLevels& levels, GridAxis axis, std::int64_t from,
                                   std::int64_t to);

}  // namespace corral::query
