#include "query/series/points.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "query/series/cursor.h"
#include "store/model/point_view.h"

namespace corral::query {
namespace {

constexpr std::chrono::seconds kSnapshotTime{2};
constexpr std::int64_t kBlockBuckets = kBlockPoints / codec::kBucketPoints;

using Clock = std::chrono::steady_clock;

// The next block to read, among the series of a lot.
struct Position {
  std::size_t series = 0;
  std::int64_t block = 0;
};

class Walk {
 public:
  Walk(const PointQuery& query, PointTaker& taker)
      : from_(ns_of(query.from)), to_(ns_of(query.to)), taker_(taker) {}

  // Goes on from the place until the lot is done, the taker is full or the snapshot has grown old.
  Result<> lot(store::PointView& view, std::span<const SeriesId> series, Position& place) {
    until_ = Clock::now() + kSnapshotTime;
    for (; place.series < series.size(); ++place.series, place.block = 0) {
      Cursor cursor(view, series[place.series], store::Channel::kValue);
      if (!TRY(blocks(cursor, series[place.series], place)) || taker_.full()) return {};
      for (const store::Damage& damage : view.damaged(series_))
        mark({.series = series_, .from = damage.t0, .to = damage.t1});
      for (std::size_t i = 0; i < cursor.chunks(); ++i) emit(TRY(cursor.chunk(i, kAllParts)));
    }
    return {};
  }

  // The blocks of one series. True: all that the view has.
  Result<bool> blocks(store::PointView& view, SeriesId series, Position& place) {
    until_ = Clock::now() + kSnapshotTime;
    Cursor cursor(view, series, store::Channel::kValue);
    return blocks(cursor, series, place);
  }

 private:
  static constexpr PointParts kAllParts{.times = true, .steps = true};

  Result<bool> blocks(Cursor& cursor, SeriesId series, Position& place) {
    series_ = series;
    for (; place.block * kBlockPoints < cursor.in_blocks(); ++place.block) {
      if (taker_.full() || Clock::now() > until_) return false;
      TRY(block(cursor, place.block * kBlockPoints));
    }
    return true;
  }

  // The rest of a block from a point on, by the pyramid; all of time when that cannot be read.
  Result<PointGap> rest_of_block(Cursor& cursor, std::int64_t order) const {
    const std::int64_t first = order / codec::kBucketPoints;
    const std::int64_t end = (order / kBlockPoints + 1) * kBlockBuckets;
    const auto points = static_cast<std::uint64_t>(end * codec::kBucketPoints - order);
    PointGap found{
        .series = series_, .from = PointGap::kLatest, .to = PointGap::kEarliest, .points = points};
    for (std::int64_t no = first; no < end; ++no) {
      const codec::Bucket* bucket = TRY(cursor.bucket(0, no));
      if (bucket == nullptr) return PointGap{.series = series_, .points = points};
      found.from = std::min(found.from, bucket->t0);
      found.to = std::max(found.to, bucket->t1);
    }
    return found;
  }

  [[nodiscard]] bool everything() const {
    return from_ == PointGap::kEarliest && to_ == PointGap::kLatest;
  }
  void mark(const PointGap& gap) {
    if (gap.to >= from_ && gap.from < to_) taker_.gap(gap);
  }

  // Hands over the points that lie in the range.
  void emit(const PointSpan& span) {
    const auto first =
        static_cast<std::size_t>(std::ranges::lower_bound(span.times, from_) - span.times.begin());
    const auto last = to_ == PointGap::kLatest
                          ? span.size()
                          : static_cast<std::size_t>(std::ranges::lower_bound(span.times, to_) -
                                                     span.times.begin());
    if (first >= last) return;
    const PointSpan inside = span.part(first, last - first);
    taker_.points({.series = series_,
                   .session = inside.session,
                   .times = inside.times,
                   .steps = inside.steps,
                   .values = inside.values});
  }

  Result<> block(Cursor& cursor, std::int64_t order) {
    if (!everything()) {
      const PointGap all = TRY(rest_of_block(cursor, order));
      if (all.to < from_ || all.from >= to_) return {};
    }
    const PointSpan span = TRY(cursor.read(order, kBlockPoints, kAllParts));
    const auto read = static_cast<std::int64_t>(span.size());
    if (read > 0) emit(span);
    if (read < kBlockPoints) mark(TRY(rest_of_block(cursor, order + read)));
    return {};
  }

  const std::int64_t from_, to_;
  PointTaker& taker_;
  SeriesId series_;
  Clock::time_point until_;
};

}  // namespace

Result<> walk_batches(store::PointView& view, const PointQuery& query, PointTaker& taker) {
  Walk walk(query, taker);
  Position place;
  while (place.series < query.series.size()) TRY(walk.lot(view, query.series, place));
  return {};
}

Result<> check_not_removed(const store::Reader& store, RunId run) {
  if (TRY(store.run(run))) return {};
  return fail(Code::kNotFound,
              fmt::format("run {} was removed while its points were read", run.hex()));
}

// In the middle of a series that series alone is looked at, and its blocks alone until the last of
// them: what is in no block would be decoded anew for each step.
Result<bool> PointWalk::next(PointTaker& taker) {
  Walk walk(query_, taker);
  while (series_ < query_.series.size() && !taker.full()) {
    const bool inside = block_ > 0;
    const std::size_t left = query_.series.size() - series_;
    const auto lot =
        std::span(query_.series).subspan(series_, inside ? 1 : std::min(kSeriesAtOnce, left));
    Position place{.series = 0, .block = block_};
    if (inside && !blocks_done_) {
      const auto blocks = [&](store::PointView& view) -> Result<> {
        blocks_done_ = TRY(walk.blocks(view, lot.front(), place));
        return {};
      };
      TRY(store_.view(lot, blocks, store::Levels::kBlocks));
    } else {
      TRY(store_.view(lot, [&](store::PointView& view) { return walk.lot(view, lot, place); }));
      blocks_done_ = false;
    }
    series_ += place.series;
    block_ = place.block;
  }
  return series_ < query_.series.size();
}

}  // namespace corral::query
