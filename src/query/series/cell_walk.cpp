#include "query/series/cell_walk.h"

namespace corral::query {
namespace {

struct Counter {
  static bool takes(std::size_t, const codec::Bucket&, int, bool) { return true; }
  void bucket(std::size_t, const codec::Bucket& b, std::int64_t) { count += b.count; }
  void points(std::size_t, const PointSpan& span) { count += span.size(); }
  std::uint64_t count = 0;
};

// From the pyramid alone: border buckets are not opened.
Result<std::uint64_t> count_buckets(SeriesLevels& levels, const AxisCells& range, int level,
                                    std::int64_t no) {
  const std::int64_t order = no * bucket_points(level);
  if (order >= levels.in_blocks()) return 0;
  const codec::Bucket* b = nullptr;
  if (order + bucket_points(level) <= levels.in_blocks()) b = TRY(levels.bucket(level, no));
  if (b != nullptr) {
    if (b->t1 < range.begin() || b->t0 >= range.end()) return 0;
    if (level == 0 || (b->t0 >= range.begin() && b->t1 < range.end())) return b->count;
  } else if (level == 0) {
    return codec::kBucketPoints;
  }
  std::uint64_t count = 0;
  for (std::int64_t child = 0; child < codec::kFanOut; ++child)
    count += TRY(count_buckets(levels, range, level - 1, no * codec::kFanOut + child));
  return count;
}

}  // namespace

Result<std::uint64_t> count_points(SeriesLevels& levels, GridAxis axis, std::int64_t from,
                                   std::int64_t to) {
  const AxisCells range({from, to});
  Counter counter;
  if (axis == GridAxis::kStep) {
    TRY(walk_cells(levels, range, {.axis = axis}, counter));
    return counter.count;
  }
  int top = 0;
  while (top < kTopLevel && bucket_points(top + 1) <= levels.in_blocks()) ++top;
  for (std::int64_t no = 0; no * bucket_points(top) < levels.in_blocks(); ++no)
    counter.count += TRY(count_buckets(levels, range, top, no));
  for (std::size_t i = 0; i < levels.chunks(); ++i) counter.count += levels.chunk(i, {}).size();
  return counter.count;
}

}  // namespace corral::query
