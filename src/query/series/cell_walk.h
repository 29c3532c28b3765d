// walk_cells: brings a series to the cells of an axis, as whole buckets where the sink takes them
// and as points elsewhere.
//
// Descends a cursor's pyramid in order of arrival, then goes over the recent chunks. The sink
// decides about each bucket; one that it refuses is opened, at the lowest level into points. Points
// without a step are skipped on the step axis, where only buckets of one block are offered. No
// virtual calls. One thread.
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
#include "query/series/cursor.h"

namespace corral::query {

struct CellWalkOptions {
  GridAxis axis = GridAxis::kTime;
  int max_level = kTopLevel;  // the coarsest buckets to use
  bool times = false;         // the sink needs times on the step axis
};

// Cuts spans of points at the cells' borders.
template <class Sink>
class CellCut {
 public:
  CellCut(const AxisCells& cells, GridAxis axis, Sink& sink)
      : cells_(cells), sink_(sink), steps_(axis == GridAxis::kStep) {}

  void add(const PointSpan& span) {
    const auto xs = steps_ ? span.steps : span.times;
    for (std::size_t first = 0; first < xs.size();) {
      std::size_t last = xs.size();
      if (steps_) {
        last = first + 1;
        while (last < xs.size() && xs[last - 1] <= xs[last]) ++last;
      }
      add_ascending(span, xs, first, last);
      first = last;
    }
  }

 private:
  void add_ascending(const PointSpan& span, std::span<const std::int64_t> xs, std::size_t first,
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

// The sink of a descent: offers buckets to the cells' sink, and cuts points for it.
template <class Sink>
class CellWalk {
 public:
  CellWalk(Cursor& cursor, const AxisCells& cells, CellWalkOptions options, Sink& sink)
      : cursor_(cursor),
        cells_(cells),
        sink_(sink),
        cut_(cells, options.axis, sink),
        axis_(options.axis),
        steps_(options.axis == GridAxis::kStep),
        max_level_(steps_ ? std::min(options.max_level, kBlockLevel) : options.max_level),
        parts_{.times = !steps_ || options.times, .steps = steps_} {}

  Result<> run() {
    TRY(cursor_.descend(*this, {.max_level = max_level_}));
    for (std::size_t i = 0; i < cursor_.chunks(); ++i) cut_.add(TRY(cursor_.chunk(i, parts_)));
    return {};
  }

  // Done: taken, or without a point in the range.
  Verdict judge(const codec::Bucket& bucket, Node node) {
    if (node.level > max_level_) return Verdict::kDescend;
    const std::int64_t x0 = steps_ ? bucket.s0 : bucket.t0;
    const std::int64_t x1 = steps_ ? bucket.s1 : bucket.t1;
    if (x0 > x1 || x1 < cells_.begin() || x0 >= cells_.end()) return Verdict::kDone;
    if (x0 < cells_.begin() || x1 >= cells_.end()) return Verdict::kDescend;
    const std::size_t cell = hint_ = cells_.find(x0, hint_);
    if (!sink_.takes(cell, bucket, node.level, x1 < cells_.end(cell))) return Verdict::kDescend;
    sink_.bucket(cell, bucket, node.first);
    return Verdict::kDone;
  }
  Result<> points(Node node, const codec::Bucket*) {
    TRY(cursor_.read_all(node, parts_, axis_, [&](const PointSpan& span) { cut_.add(span); }));
    return {};
  }

 private:
  Cursor& cursor_;
  const AxisCells& cells_;
  Sink& sink_;
  CellCut<Sink> cut_;
  GridAxis axis_;
  bool steps_;
  int max_level_;
  PointParts parts_;
  std::size_t hint_ = 0;
};

template <class Sink>
Result<> walk_cells(Cursor& cursor, const AxisCells& cells, CellWalkOptions options, Sink& sink) {
  return CellWalk<Sink>(cursor, cells, options, sink).run();
}

}  // namespace corral::query
