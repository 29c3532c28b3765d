#include "query/series/test_memory_view.h"

#include <algorithm>
#include <numeric>

#include "codec/block/rate.h"

namespace corral::query::testing {
namespace {

constexpr std::size_t kBlock = codec::kColumnEntries;

class MemoryBlock final : public store::Block {
 public:
  MemoryBlock(std::int64_t session, Points points)
      : session_(session), points_(std::move(points)) {}
  [[nodiscard]] std::int64_t session() const override { return session_; }
  [[nodiscard]] bool has_steps() const override { return !points_.steps.empty(); }
  Result<> times(std::size_t first, std::span<std::int64_t> out) const override {
    return copy(points_.times, first, out);
  }
  Result<> steps(std::size_t first, std::span<std::int64_t> out) const override {
    return copy(points_.steps, first, out);
  }
  Result<> values(std::size_t first, std::span<double> out) const override {
    return copy(points_.values, first, out);
  }
  [[nodiscard]] const Points& points() const { return points_; }

 private:
  template <class T>
  static Result<> copy(const std::vector<T>& from, std::size_t first, std::span<T> out) {
    CORRAL_ASSERT(first + out.size() <= from.size());
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
    return {};
  }
  std::int64_t session_;
  Points points_;
};

const Points& points_of(const std::shared_ptr<const store::Block>& block) {
  return static_cast<const MemoryBlock&>(*block).points();
}

template <class T>
std::vector<T> slice(const std::vector<T>& all, std::size_t first, std::size_t n) {
  if (all.empty()) return {};
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

Points sorted(Points points) {
  std::vector<std::size_t> order(points.times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return points.times[i]; });
  Points out;
  for (const std::size_t i : order) {
    out.times.push_back(points.times[i]);
    if (!points.steps.empty()) out.steps.push_back(points.steps[i]);
    out.values.push_back(points.values[i]);
  }
  return out;
}

}  // namespace

void MemoryView::add(SeriesId series, std::int64_t session, const Points& points) {
  Series& into = all_[series];
  if (std::ranges::find(into.order, session) == into.order.end()) into.order.push_back(session);
  Open& open = into.open[session];
  if (open.steps == points.steps.empty()) spill(into, session, open);
  open.steps = !points.steps.empty();
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(open.points.times, points.times);
  append(open.points.steps, points.steps);
  append(open.points.values, points.values);
  cut(into, session, open);
}

void MemoryView::cut(Series& series, std::int64_t session, Open& open) {
  std::size_t at = 0;
  for (; at + kBlock <= open.points.times.size(); at += kBlock) {
    series.blocks.push_back(std::make_shared<MemoryBlock>(
        session, sorted({slice(open.points.times, at, kBlock), slice(open.points.steps, at, kBlock),
                         slice(open.points.values, at, kBlock)})));
  }
  const std::size_t left = open.points.times.size() - at;
  open.points = {slice(open.points.times, at, left), slice(open.points.steps, at, left),
                 slice(open.points.values, at, left)};
}

void MemoryView::spill(Series& series, std::int64_t session, Open& open) {
  if (open.points.times.empty()) return;
  Points points = sorted(std::move(open.points));
  open.points = {};
  const bool steps = !points.steps.empty();
  series.chunks.push_back(
      {.session = session,
       .times = std::make_shared<const std::vector<std::int64_t>>(std::move(points.times)),
       .steps = steps ? std::make_shared<const std::vector<std::int64_t>>(std::move(points.steps))
                      : nullptr,
       .values = std::move(points.values)});
}

void MemoryView::finish(bool rates) {
  for (auto& [id, series] : all_) {
    for (const std::int64_t session : series.order) spill(series, session, series.open[session]);
    build(series, store::Channel::kValue);
    if (rates) build(series, store::Channel::kRate);
  }
}

void MemoryView::build(Series& series, store::Channel channel) {
  constexpr std::size_t kPart = codec::kBucketPoints;
  std::map<std::int64_t, codec::CounterRates> rates;
  std::vector<codec::Bucket> buckets;
  for (const auto& block : series.blocks) {
    const Points& points = points_of(block);
    std::vector<double> values = points.values;
    if (channel == store::Channel::kRate) {
      for (std::size_t i = 0; i < kBlock; ++i)
        values[i] = rates[block->session()].next(points.times[i], points.values[i]);
    }
    for (std::size_t at = 0; at < kBlock; at += kPart) {
      const auto part = [&](const auto& all) { return std::span(all).subspan(at, kPart); };
      buckets.push_back(codec::make_bucket(
          part(points.times),
          points.steps.empty() ? std::span<const std::int64_t>() : part(points.steps),
          part(values)));
    }
  }
  for (int tier = 0; !buckets.empty(); ++tier) {
    std::vector<codec::Bucket> above;
    for (std::size_t at = 0; at < buckets.size(); at += codec::kLowerBuckets) {
      auto row = std::make_shared<codec::PyramidRow>();
      const std::size_t n = std::min(codec::kLowerBuckets, buckets.size() - at);
      codec::extend_row(*row, std::span(buckets).subspan(at, n));
      // Only full rows rise.
      for (std::size_t i = 0; n == codec::kLowerBuckets && i < codec::kUpperBuckets; i += 4)
        above.push_back(codec::join_buckets(std::span(row->upper).subspan(i, 4)));
      series.rows[{channel, tier, static_cast<std::int64_t>(at / codec::kLowerBuckets)}] = row;
    }
    buckets = std::move(above);
  }
}

std::vector<Arrived> MemoryView::arrived(SeriesId series) const {
  std::vector<Arrived> out;
  const auto found = all_.find(series);
  if (found == all_.end()) return out;
  for (const auto& block : found->second.blocks) {
    const Points& points = points_of(block);
    for (std::size_t i = 0; i < kBlock; ++i)
      out.push_back({block->session(), points.times[i],
                     points.steps.empty() ? std::nullopt : std::optional(points.steps[i]),
                     points.values[i]});
  }
  for (const store::Chunk& chunk : found->second.chunks) {
    for (std::size_t i = 0; i < chunk.values.size(); ++i)
      out.push_back({chunk.session, (*chunk.times)[i],
                     chunk.steps ? std::optional((*chunk.steps)[i]) : std::nullopt,
                     chunk.values[i]});
  }
  return out;
}

std::int64_t MemoryView::block_count(SeriesId series) const {
  const auto found = all_.find(series);
  return found == all_.end() ? 0 : std::ssize(found->second.blocks);
}

std::span<const store::Chunk> MemoryView::recent(SeriesId series) const {
  const auto found = all_.find(series);
  if (found == all_.end()) return {};
  return found->second.chunks;
}

std::span<const store::Damage> MemoryView::damaged(SeriesId series) const {
  const auto found = all_.find(series);
  if (found == all_.end()) return {};
  return found->second.damaged;
}

Result<std::shared_ptr<const store::Block>> MemoryView::block(SeriesId series, std::int64_t no) {
  ++blocks_read;
  if (bad_blocks_.contains({series, no})) return fail(Code::kCorruption, "a block");
  return all_.at(series).blocks.at(static_cast<std::size_t>(no));
}

Result<std::shared_ptr<const codec::PyramidRow>> MemoryView::pyramid(SeriesId series,
                                                                     store::Channel channel,
                                                                     int tier, std::int64_t no) {
  ++rows_read;
  if (bad_rows_.contains({series, channel, tier, no}))
    return fail(Code::kCorruption, "a row of a pyramid");
  const auto& rows = all_.at(series).rows;
  const auto row = rows.find({channel, tier, no});
  if (row == rows.end() || lost_tiers_.contains({series, tier}))
    return fail(Code::kNotFound, "there is no such row");
  return row->second;
}

}  // namespace corral::query::testing
