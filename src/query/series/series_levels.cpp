#include "query/series/series_levels.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace corral::query {
namespace {

constexpr std::int64_t kVectorsOfBlock = kBlockPoints / kVectorPoints;
constexpr std::int64_t kBlocksLookedBack = 16;

bool is_damage(const Error& error) {
  return error.code == Code::kCorruption || error.code == Code::kNotFound;
}

void to_rates(codec::CounterRates& rates, std::span<const std::int64_t> times,
              std::span<double> values, std::span<std::int64_t> since) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    since[i] = rates.before() ? rates.before()->time : times[i];
    values[i] = rates.next(times[i], values[i]);
  }
}

}  // namespace

PointSpan PointSpan::part(std::size_t first, std::size_t count) const {
  PointSpan p = *this;
  p.order += static_cast<std::int64_t>(first);
  if (!times.empty()) p.times = times.subspan(first, count);
  if (!steps.empty()) p.steps = steps.subspan(first, count);
  p.values = values.subspan(first, count);
  if (!since.empty()) p.since = since.subspan(first, count);
  return p;
}

SeriesLevels::SeriesLevels(store::PointView& view, SeriesId series, store::Channel channel)
    : view_(view),
      series_(series),
      channel_(channel),
      in_blocks_(view.block_count(series) * kBlockPoints),
      recent_(view.recent(series)) {
  points_ = in_blocks_;
  for (const store::Chunk& chunk : recent_) {
    chunk_orders_.push_back(points_);
    points_ += static_cast<std::int64_t>(chunk.values.size());
  }
}

Result<const codec::Bucket*> SeriesLevels::bucket(int level, std::int64_t no) {
  CORRAL_ASSERT(level >= 0 && level <= kTopLevel);
  const bool lower = level % 2 == 0;
  const auto per_row =
      static_cast<std::int64_t>(lower ? codec::kLowerBuckets : codec::kUpperBuckets);
  const std::int64_t row_no = no / per_row;
  Row& held = rows_[static_cast<std::size_t>(level / 2)];
  if (held.no != row_no) {
    auto row = view_.pyramid(series_, channel_, level / 2, row_no);
    if (!row && !is_damage(row.error())) return tl::unexpected<Error>(std::move(row).error());
    held.row = row ? std::move(*row) : nullptr;
    held.no = row_no;
  }
  if (held.row == nullptr) return nullptr;
  const auto& buckets = lower ? held.row->lower : held.row->upper;
  const auto index = static_cast<std::size_t>(no % per_row);
  return index < buckets.size() ? &buckets[index] : nullptr;
}

Result<const store::Block*> SeriesLevels::open(std::int64_t block) {
  if (block_no_ != block) {
    auto opened = view_.block(series_, block);
    if (!opened && !is_damage(opened.error()))
      return tl::unexpected<Error>(std::move(opened).error());
    block_ = opened ? std::move(*opened) : nullptr;
    block_no_ = block;
  }
  return block_.get();
}

Result<PointSpan> SeriesLevels::read(std::int64_t order, std::size_t count, PointParts parts) {
  const std::int64_t vector = order / kVectorPoints;
  const auto first = static_cast<std::size_t>(order % kVectorPoints);
  CORRAL_ASSERT(first + count <= kVectorPoints && order < in_blocks_);
  if (bad_ != vector) {
    auto loaded = load(vector, parts);
    if (!loaded && !is_damage(loaded.error())) return tl::unexpected<Error>(loaded.error());
    if (!loaded) bad_ = vector;
  }
  if (bad_ == vector) {
    damaged_ += count;
    return PointSpan{};
  }
  PointSpan all{.order = vector * kVectorPoints,
                .session = block_->session(),
                .times = {},
                .steps = {},
                .values = values_,
                .since = {}};
  if (parts.times) all.times = times_;
  if (parts.steps && block_->has_steps()) all.steps = steps_;
  if (channel_ == store::Channel::kRate) all.since = since_;
  return all.part(first, count);
}

Result<> SeriesLevels::load(std::int64_t vector, PointParts parts) {
  const store::Block* block = TRY(open(vector / kVectorsOfBlock));
  if (block == nullptr) return fail(Code::kCorruption, "the block is damaged");
  const auto first = static_cast<std::size_t>(vector % kVectorsOfBlock * kVectorPoints);
  const bool rate = channel_ == store::Channel::kRate;
  if ((parts.times || rate) && times_of_ != vector) {
    times_of_ = -1;
    times_.resize(kVectorPoints);
    TRY(block->times(first, times_));
    times_of_ = vector;
  }
  if (parts.steps && block->has_steps() && steps_of_ != vector) {
    steps_of_ = -1;
    steps_.resize(kVectorPoints);
    TRY(block->steps(first, steps_));
    steps_of_ = vector;
  }
  if (values_of_ != vector) {
    values_of_ = -1;
    values_.resize(kVectorPoints);
    TRY(block->values(first, values_));
    if (rate) TRY(load_rates(vector));
    values_of_ = vector;
  }
  return {};
}

Result<> SeriesLevels::load_rates(std::int64_t vector) {
  const std::int64_t session = block_->session();
  if (rates_next_ != vector || rates_session_ != session) {
    rates_.start_after(TRY(newest_before(vector, session)));
    rates_session_ = session;
  }
  since_.resize(values_.size());
  to_rates(rates_, times_, values_, since_);
  rates_next_ = vector + 1;
  return {};
}

// The newest finite sample in a vector; none as well when it is damaged.
SeriesLevels::Sample SeriesLevels::newest_of(const store::Block& block, std::size_t first) {
  std::array<double, kVectorPoints> values{};
  if (!block.values(first, values)) return std::nullopt;
  for (std::size_t i = values.size(); i-- > 0;) {
    if (!std::isfinite(values[i])) continue;
    codec::CounterSample sample{.time = 0, .value = values[i]};
    if (!block.times(first + i, std::span(&sample.time, 1))) return std::nullopt;
    return sample;
  }
  return std::nullopt;
}

Result<SeriesLevels::Sample> SeriesLevels::newest_before(std::int64_t vector,
                                                         std::int64_t session) {
  const std::int64_t oldest = (vector / kVectorsOfBlock - kBlocksLookedBack) * kVectorsOfBlock;
  for (std::int64_t v = vector - 1; v >= std::max<std::int64_t>(oldest, 0); --v) {
    const auto block = view_.block(series_, v / kVectorsOfBlock);
    if (!block && !is_damage(block.error())) return tl::unexpected<Error>(block.error());
    if (!block || (*block)->session() != session) {
      v -= v % kVectorsOfBlock;
      continue;
    }
    const auto first = static_cast<std::size_t>(v % kVectorsOfBlock * kVectorPoints);
    if (const Sample found = newest_of(**block, first)) return found;
  }
  return Sample{};
}

Lost SeriesLevels::lost(GridAxis axis, const AxisCells& range) const {
  Lost lost{.points = damaged_, .spans = false};
  for (const store::Damage& d : view_.damaged(series_))
    if (axis == GridAxis::kStep || (d.t1 >= range.begin() && d.t0 < range.end())) lost.spans = true;
  return lost;
}

void SeriesLevels::prepare_chunks() {
  if (chunks_ready_) return;
  chunks_ready_ = true;
  if (channel_ != store::Channel::kRate) return;
  std::unordered_map<std::int64_t, codec::CounterRates> sessions;
  for (const store::Chunk& chunk : recent_) {
    const auto [entry, first] = sessions.try_emplace(chunk.session);
    if (first) {
      const auto newest = newest_before(in_blocks_ / kVectorPoints, chunk.session);
      if (newest) entry->second.start_after(*newest);
    }
    std::vector<double>& rates = chunk_rates_.emplace_back(chunk.values);
    to_rates(entry->second, *chunk.times, rates, chunk_since_.emplace_back(rates.size()));
  }
}

PointSpan SeriesLevels::chunk(std::size_t no, PointParts parts) {
  prepare_chunks();
  const store::Chunk& chunk = recent_[no];
  PointSpan all{.order = chunk_orders_[no],
                .session = chunk.session,
                .times = *chunk.times,
                .steps = {},
                .values = chunk_rates_.empty() ? std::span<const double>(chunk.values)
                                               : std::span<const double>(chunk_rates_[no]),
                .since = {}};
  if (!chunk_since_.empty()) all.since = chunk_since_[no];
  if (parts.steps && chunk.steps != nullptr) all.steps = *chunk.steps;
  return all;
}

Result<SeriesLevels::At> SeriesLevels::at(std::int64_t order) {
  At found;
  if (order >= in_blocks_) {
    std::size_t no = chunk_orders_.size() - 1;
    while (chunk_orders_[no] > order) --no;
    const auto index = static_cast<std::size_t>(order - chunk_orders_[no]);
    found.time = (*recent_[no].times)[index];
    if (recent_[no].steps != nullptr) found.step = (*recent_[no].steps)[index];
    return found;
  }
  const auto block = TRY(view_.block(series_, order / kBlockPoints));
  const auto index = static_cast<std::size_t>(order % kBlockPoints);
  TRY(block->times(index, std::span(&found.time, 1)));
  if (block->has_steps()) {
    std::int64_t step = 0;
    TRY(block->steps(index, std::span(&step, 1)));
    found.step = step;
  }
  return found;
}

}  // namespace corral::query
