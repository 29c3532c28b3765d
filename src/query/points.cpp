#include "query/points.h"

#include <algorithm>
#include <array>
#include <limits>

#include "codec/block/pyramid.h"
#include "store/point_view.h"

namespace corral::query {
namespace {

constexpr std::size_t kSeriesAtOnce = 64;
constexpr std::int64_t kBlockBuckets =
    static_cast<std::int64_t>(codec::kColumnEntries / codec::kBucketPoints);
constexpr std::int64_t kRowBlocks = static_cast<std::int64_t>(codec::kLowerBuckets) / kBlockBuckets;

class Walk {
 public:
  Walk(store::PointView& view, const PointQuery& query,
       const std::function<bool(const Point&)>& take)
      : view_(view), from_(ns_of(query.from)), to_(ns_of(query.to)), take_(take) {}

  // False when the walk is to end.
  Result<bool> series(SeriesId id) {
    for (std::int64_t no = 0; no < view_.block_count(id); ++no) {
      if (!touches(id, no)) continue;
      const auto block = view_.block(id, no);
      if (!block && block.error().code != Code::kCorruption) return tl::unexpected(block.error());
      const auto more = block ? walk_block(id, **block) : Result<bool>(true);
      if (!block || !more) ++damaged;
      if (more && !*more) return false;
    }
    damaged += view_.damaged(id).size();
    for (const store::Chunk& chunk : view_.recent(id)) {
      if (!walk_chunk(id, chunk)) return false;
    }
    return true;
  }

  std::size_t damaged = 0;

 private:
  // From the pyramid; true as well when that cannot be read.
  bool touches(SeriesId id, std::int64_t no) {
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    if (from_ == kLeast && to_ == kMost) return true;
    const auto row = view_.pyramid(id, store::Channel::kValue, 0, no / kRowBlocks);
    if (!row) return true;
    const auto first = static_cast<std::size_t>(no % kRowBlocks * kBlockBuckets);
    const auto& lower = (*row)->lower;
    for (std::size_t i = first; i < first + kBlockBuckets && i < lower.size(); ++i) {
      if (lower[i].t1 >= from_ && lower[i].t0 < to_) return true;
    }
    return false;
  }

  bool give(Point& point, std::int64_t time) {
    if (time < from_ || time >= to_) return true;
    point.time = time;
    return take_(point);
  }

  // kCorruption when a vector is damaged; those before it were given.
  Result<bool> walk_block(SeriesId id, const store::Block& block) {
    std::array<double, codec::kVectorEntries> values;
    std::array<std::int64_t, codec::kVectorEntries> times;
    std::array<std::int64_t, codec::kVectorEntries> steps;
    Point point{.series = id, .session = block.session(), .time = 0, .step = {}, .value = 0};
    for (std::size_t at = 0; at < codec::kColumnEntries; at += codec::kVectorEntries) {
      TRY(block.times(at, times));
      TRY(block.values(at, values));
      if (block.has_steps()) TRY(block.steps(at, steps));
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (block.has_steps()) point.step = steps[i];
        point.value = values[i];
        if (!give(point, times[i])) return false;
      }
    }
    return true;
  }

  bool walk_chunk(SeriesId id, const store::Chunk& chunk) {
    Point point{.series = id, .session = chunk.session, .time = 0, .step = {}, .value = 0};
    for (std::size_t i = 0; i < chunk.values.size(); ++i) {
      if (chunk.steps) point.step = (*chunk.steps)[i];
      point.value = chunk.values[i];
      if (!give(point, (*chunk.times)[i])) return false;
    }
    return true;
  }

  store::PointView& view_;
  std::int64_t from_, to_;
  const std::function<bool(const Point&)>& take_;
};

}  // namespace

Result<std::size_t> walk_points(store::Store& store, const PointQuery& query,
                                const std::function<bool(const Point&)>& take) {
  std::size_t damaged = 0;
  bool more = true;
  for (std::size_t at = 0; more && at < query.series.size(); at += kSeriesAtOnce) {
    const auto lot =
        std::span(query.series).subspan(at, std::min(kSeriesAtOnce, query.series.size() - at));
    const auto read = [&](store::PointView& view) -> Result<> {
      Walk walk(view, query, take);
      for (auto id = lot.begin(); more && id != lot.end(); ++id) more = TRY(walk.series(*id));
      damaged += walk.damaged;
      return {};
    };
    TRY(store.view(lot, read));
  }
  return damaged;
}

}  // namespace corral::query
