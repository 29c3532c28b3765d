#include "query/series/extent.h"

#include <algorithm>

#include "query/series/cell_walk.h"

namespace corral::query {
namespace {

// Points in the cells, on the step axis.
struct StepCounter {
  static bool takes(std::size_t, const codec::Bucket&, int, bool) { return true; }
  void bucket(std::size_t, const codec::Bucket& b, std::int64_t) { count += b.count; }
  void points(std::size_t, const PointSpan& span) { count += span.size(); }
  std::uint64_t count = 0;
};

// Points in a range of time, by the pyramid alone: buckets that a border cuts are not opened.
struct TimeCounter {
  Verdict judge(const codec::Bucket& b, Node node) {
    if (b.t1 < from || b.t0 >= to) return Verdict::kDone;
    if (node.level > 0 && (b.t0 < from || b.t1 >= to)) return Verdict::kDescend;
    count += b.count;
    return Verdict::kDone;
  }
  Result<> points(Node node, const codec::Bucket*) {
    count += static_cast<std::uint64_t>(node.points());
    return {};
  }
  std::int64_t from, to;
  std::uint64_t count = 0;
};

class ExtentFinder {
 public:
  ExtentFinder(Cursor& cursor, GridAxis axis)
      : cursor_(cursor), axis_(axis), steps_(axis == GridAxis::kStep) {}

  Result<std::optional<Extent>> run() {
    TRY(cursor_.descend(*this));
    for (std::size_t i = 0; i < cursor_.chunks(); ++i) add(TRY(cursor_.chunk(i, parts())));
    return extent_;
  }
  Verdict judge(const codec::Bucket& bucket, Node) {
    if (!steps_) {
      join(bucket.t0, bucket.t1);
    } else if (bucket.has_steps()) {
      join(bucket.s0, bucket.s1);
    }
    return Verdict::kDone;
  }
  Result<> points(Node node, const codec::Bucket*) {
    TRY(cursor_.read_all(node, parts(), axis_, [&](const PointSpan& span) { add(span); }));
    return {};
  }

 private:
  [[nodiscard]] PointParts parts() const { return {.times = !steps_, .steps = steps_}; }
  void add(const PointSpan& span) {
    const auto xs = steps_ ? span.steps : span.times;
    if (xs.empty()) return;
    const auto [least, greatest] = std::ranges::minmax(xs);
    join(least, greatest);
  }
  void join(std::int64_t first, std::int64_t last) {
    extent_ = extent_ ? Extent{.first = std::min(extent_->first, first),
                               .last = std::max(extent_->last, last)}
                      : Extent{.first = first, .last = last};
  }

  Cursor& cursor_;
  GridAxis axis_;
  bool steps_;
  std::optional<Extent> extent_;
};

}  // namespace

Result<std::uint64_t> count_points(Cursor& cursor, GridAxis axis, std::int64_t from,
                                   std::int64_t to) {
  if (axis == GridAxis::kStep) {
    const AxisCells range({from, to});
    StepCounter counter;
    TRY(walk_cells(cursor, range, {.axis = axis}, counter));
    return counter.count;
  }
  TimeCounter counter{.from = from, .to = to};
  TRY(cursor.descend(counter));
  for (const store::Chunk& chunk : cursor.recent()) counter.count += chunk.values.size();
  return counter.count;
}

Result<std::optional<Extent>> find_extent(store::PointView& view, SeriesId series, GridAxis axis) {
  Cursor cursor(view, series, store::Channel::kValue);
  return ExtentFinder(cursor, axis).run();
}

void DataRange::add(const Extent& extent, std::int64_t origin) {
  Range one;
  if (__builtin_sub_overflow(extent.first, origin, &one.from) ||
      __builtin_sub_overflow(extent.last, origin, &one.to))
    return;
  one.to = add_clipped(one.to, 1);
  one.from = std::min(one.from, add_clipped(one.to, -1));
  range_ = range_
               ? Range{.from = std::min(range_->from, one.from), .to = std::max(range_->to, one.to)}
               : one;
}

Range range_between(std::optional<std::int64_t> from, std::optional<std::int64_t> to, Range data) {
  const Range range{.from = from.value_or(data.from), .to = to.value_or(data.to)};
  if (range.from < range.to) return range;
  const std::int64_t first = from ? *from : add_clipped(range.to, -1);
  const std::int64_t end = add_clipped(first, 1);
  return {.from = add_clipped(end, -1), .to = end};
}

}  // namespace corral::query
