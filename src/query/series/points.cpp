#include "query/series/points.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "codec/block/pyramid.h"
#include "store/model/point_view.h"

namespace corral::query {
namespace {

constexpr std::size_t kSeriesAtOnce = 64;
constexpr std::chrono::seconds kSnapshotTime{2};
constexpr auto kVectorBuckets =
    static_cast<std::int64_t>(codec::kVectorEntries / codec::kBucketPoints);
constexpr auto kBlockBuckets =
    static_cast<std::int64_t>(codec::kColumnEntries / codec::kBucketPoints);
constexpr std::int64_t kRowBlocks = static_cast<std::int64_t>(codec::kLowerBuckets) / kBlockBuckets;

using Clock = std::chrono::steady_clock;

bool is_damage(const Error& error) {
  return error.code == Code::kCorruption || error.code == Code::kNotFound;
}

// Where a walk stands among the series of a lot.
struct Place {
  std::size_t series = 0;
  std::int64_t block = 0;
};

class Walk {
 public:
  Walk(const PointQuery& query, PointTaker& taker)
      : from_(ns_of(query.from)), to_(ns_of(query.to)), taker_(taker) {}

  // Goes on from the place until the lot is done, the taker is full or the snapshot has grown old.
  Result<> lot(store::PointView& view, std::span<const SeriesId> series, Place& place) {
    const auto until = Clock::now() + kSnapshotTime;
    for (; place.series < series.size(); ++place.series, place.block = 0) {
      const SeriesId id = series[place.series];
      for (; place.block < view.block_count(id); ++place.block) {
        if (taker_.full() || Clock::now() > until) return {};
        TRY(block(view, id, place.block));
      }
      if (taker_.full()) return {};
      recent(view, id);
    }
    return {};
  }

 private:
  // Of the block's points from a vector on, by the pyramid; all of time when that cannot be read.
  static PointGap extent(store::PointView& view, SeriesId id, std::int64_t no,
                         std::size_t entry = 0) {
    PointGap found{.series = id, .points = codec::kColumnEntries - entry};
    const auto row = view.pyramid(id, store::Channel::kValue, 0, no / kRowBlocks);
    if (!row) return found;
    const std::span buckets((*row)->lower);
    const auto vector = static_cast<std::int64_t>(entry / codec::kVectorEntries);
    const auto first =
        static_cast<std::size_t>(no % kRowBlocks * kBlockBuckets + vector * kVectorBuckets);
    const auto count = static_cast<std::size_t>(kBlockBuckets - vector * kVectorBuckets);
    if (first + count > buckets.size()) return found;
    const auto part = buckets.subspan(first, count);
    found.from = std::ranges::min(part, {}, &codec::Bucket::t0).t0;
    found.to = std::ranges::max(part, {}, &codec::Bucket::t1).t1;
    return found;
  }

  [[nodiscard]] bool everything() const {
    return from_ == PointGap::kEarliest && to_ == PointGap::kLatest;
  }
  void mark(const PointGap& gap) {
    if (gap.to >= from_ && gap.from < to_) taker_.gap(gap);
  }

  // Hands over those that lie in the range.
  void give(PointBatch batch) {
    const auto first = static_cast<std::size_t>(std::ranges::lower_bound(batch.times, from_) -
                                                batch.times.begin());
    const auto last = to_ == PointGap::kLatest
                          ? batch.times.size()
                          : static_cast<std::size_t>(std::ranges::lower_bound(batch.times, to_) -
                                                     batch.times.begin());
    if (first >= last) return;
    batch.times = batch.times.subspan(first, last - first);
    batch.values = batch.values.subspan(first, last - first);
    if (!batch.steps.empty()) batch.steps = batch.steps.subspan(first, last - first);
    taker_.points(batch);
  }

  Result<> block(store::PointView& view, SeriesId id, std::int64_t no) {
    if (!everything()) {
      const PointGap all = extent(view, id, no);
      if (all.to < from_ || all.from >= to_) return {};
    }
    const auto opened = view.block(id, no);
    std::size_t read = 0;
    auto done = opened ? decode(**opened, read) : Result<>(tl::unexpected(opened.error()));
    if (!done && !is_damage(done.error())) return done;
    if (read > 0) {
      give({.series = id,
            .session = (*opened)->session(),
            .times = std::span(times_).first(read),
            .steps = std::span(steps_).first((*opened)->has_steps() ? read : 0),
            .values = std::span(values_).first(read)});
    }
    if (!done) mark(extent(view, id, no, read));
    return {};
  }

  // kCorruption when a vector is damaged; `read` says how many points come before it.
  Result<> decode(const store::Block& block, std::size_t& read) {
    constexpr std::size_t kVector = codec::kVectorEntries;
    for (read = 0; read < codec::kColumnEntries; read += kVector) {
      TRY(block.times(read, std::span(times_).subspan(read, kVector)));
      TRY(block.values(read, std::span(values_).subspan(read, kVector)));
      if (block.has_steps()) TRY(block.steps(read, std::span(steps_).subspan(read, kVector)));
    }
    return {};
  }

  void recent(store::PointView& view, SeriesId id) {
    for (const store::Damage& damage : view.damaged(id))
      mark({.series = id, .from = damage.t0, .to = damage.t1});
    for (const store::Chunk& chunk : view.recent(id)) {
      PointBatch batch{.series = id,
                       .session = chunk.session,
                       .times = *chunk.times,
                       .steps = {},
                       .values = chunk.values};
      if (chunk.steps) batch.steps = *chunk.steps;
      give(batch);
    }
  }

  const std::int64_t from_, to_;
  PointTaker& taker_;
  std::array<std::int64_t, codec::kColumnEntries> times_{}, steps_{};
  std::array<double, codec::kColumnEntries> values_{};
};

}  // namespace

Result<> walk_batches(store::PointView& view, const PointQuery& query, PointTaker& taker) {
  const auto walk = std::make_unique<Walk>(query, taker);
  Place place;
  while (place.series < query.series.size()) TRY(walk->lot(view, query.series, place));
  return {};
}

Result<> check_not_removed(store::Store& store, RunId run) {
  if (TRY(store.run(run))) return {};
  return fail(Code::kNotFound,
              fmt::format("run {} was removed while its points were read", run.hex()));
}

// In the middle of a series the rest of it alone is looked at, which costs a step little.
Result<bool> PointWalk::next(PointTaker& taker) {
  const auto walk = std::make_unique<Walk>(query_, taker);
  while (series_ < query_.series.size() && !taker.full()) {
    const std::size_t left = query_.series.size() - series_;
    const auto lot =
        std::span(query_.series).subspan(series_, block_ > 0 ? 1 : std::min(kSeriesAtOnce, left));
    Place place{.series = 0, .block = block_};
    TRY(store_->view(lot, [&](store::PointView& view) { return walk->lot(view, lot, place); }));
    series_ += place.series;
    block_ = place.block;
  }
  return series_ < query_.series.size();
}

}  // namespace corral::query
