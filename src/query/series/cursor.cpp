#include "query/series/cursor.h"

#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

namespace corral::query {
namespace {

constexpr std::int64_t kVectorsOfBlock = kBlockPoints / kVectorPoints;
constexpr std::int64_t kBlocksLookedBack = 64;

// Turns values into rates in place.
void to_rates(codec::CounterRates& rates, std::span<const std::int64_t> times,
              std::span<double> values, std::span<std::int64_t> since) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    since[i] = rates.before() ? rates.before()->time : times[i];
    values[i] = rates.next(times[i], values[i]);
  }
}

// A vector's part of a block's buffer, which is made when it is first needed.
template <class T>
std::span<T> vector_part(std::unique_ptr<T[]>& buffer, std::int64_t vector) {
  if (buffer == nullptr) buffer = std::make_unique_for_overwrite<T[]>(kBlockPoints);
  return {buffer.get() + vector % kVectorsOfBlock * kVectorPoints,
          static_cast<std::size_t>(kVectorPoints)};
}

std::uint32_t vector_bit(std::int64_t vector) { return 1U << (vector % kVectorsOfBlock); }

std::size_t place_in_block(std::int64_t vector) {
  return static_cast<std::size_t>(vector % kVectorsOfBlock * kVectorPoints);
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

Cursor::Cursor(store::PointView& view, SeriesId series, store::Channel channel, LateChunks late)
    : view_(view),
      series_(series),
      channel_(channel),
      late_(late),
      in_blocks_(view.block_count(series) * kBlockPoints),
      recent_(view.recent(series)) {
  points_ = in_blocks_;
  for (const store::Chunk& chunk : recent_)
    points_ += static_cast<std::int64_t>(chunk.values.size());
}

// ---- pyramid
Result<const Cursor::Row*> Cursor::held_row(int tier, std::int64_t no) {
  HeldRow& held = rows_[static_cast<std::size_t>(tier)];
  if (held.no == no) return &held.row;
  held = {};
  if (!damaged_rows_.contains({tier, no})) {
    auto row = view_.pyramid(series_, channel_, tier, no);
    if (row) {
      ++rows_read_;
      held.row = std::move(*row);
    } else if (row.error().code == Code::kCorruption) {
      damaged_rows_.emplace(tier, no);
    } else if (row.error().code != Code::kNotFound) {
      return tl::unexpected<Error>(std::move(row).error());
    }
  }
  held.no = no;
  return &held.row;
}

Result<Cursor::Row> Cursor::row(int tier, std::int64_t no) { return *TRY(held_row(tier, no)); }

Result<const codec::Bucket*> Cursor::bucket(int level, std::int64_t no) {
  CORRAL_ASSERT(level >= 0 && level <= kTopLevel);
  const bool lower = level % 2 == 0;
  const auto per_row =
      static_cast<std::int64_t>(lower ? codec::kLowerBuckets : codec::kUpperBuckets);
  const Row& row = *TRY(held_row(level / 2, no / per_row));
  if (row == nullptr) return nullptr;
  const auto& buckets = lower ? row->lower : row->upper;
  const auto index = static_cast<std::size_t>(no % per_row);
  return index < buckets.size() ? &buckets[index] : nullptr;
}

// ---- blocks
// The block, which becomes the one held; null: damaged.
Result<const store::Block*> Cursor::open(std::int64_t no) {
  if (block_no_ == no) return block_.get();
  auto opened = view_.block(series_, no);
  if (!opened && !is_damage(opened.error())) return tl::unexpected<Error>(opened.error());
  if (!opened) damaged_blocks_.insert(no);
  block_ = opened ? std::move(*opened) : nullptr;
  block_no_ = no;
  decoded_times_ = decoded_steps_ = decoded_values_ = damaged_vectors_ = 0;
  return block_.get();
}

// The block, without giving up the one held.
Result<Cursor::BlockPtr> Cursor::block(std::int64_t no) {
  if (block_no_ == no && block_ != nullptr) return block_;
  return view_.block(series_, no);
}

Result<> Cursor::note_damage(Result<> result, std::int64_t block) {
  if (!result && result.error().code == Code::kCorruption) damaged_blocks_.insert(block);
  return result;
}

Result<PointSpan> Cursor::read(std::int64_t order, std::size_t count, PointParts parts) {
  const auto first = static_cast<std::size_t>(order % kBlockPoints);
  CORRAL_ASSERT(first + count <= kBlockPoints && order < in_blocks_);
  const std::int64_t end = order + static_cast<std::int64_t>(count);
  const store::Block* block = TRY(open(order / kBlockPoints));
  std::int64_t at = order;
  while (at < end) {
    const std::int64_t vector = at / kVectorPoints;
    const std::int64_t next = std::min(end, (vector + 1) * kVectorPoints);
    Result<> loaded = fail(Code::kCorruption, "the block is damaged");
    if (block != nullptr) loaded = load(vector, parts);
    if (!loaded && !is_damage(loaded.error())) return tl::unexpected<Error>(loaded.error());
    if (!loaded) {
      lost_points_ += static_cast<std::uint64_t>(next - at);
      break;
    }
    at = next;
  }
  if (at == order) return PointSpan{};
  count = static_cast<std::size_t>(at - order);
  PointSpan found{.order = order,
                  .session = block->session(),
                  .times = {},
                  .steps = {},
                  .values = {values_.get() + first, count},
                  .since = {}};
  if (parts.times) found.times = {times_.get() + first, count};
  if (parts.steps && block->has_steps()) found.steps = {steps_.get() + first, count};
  if (channel_ == store::Channel::kRate) found.since = {since_.get() + first, count};
  return found;
}

// Decodes a vector of the held block, unless it is decoded already. A whole vector costs no more
// than a part.
Result<> Cursor::load(std::int64_t vector, PointParts parts) {
  const std::uint32_t bit = vector_bit(vector);
  if ((damaged_vectors_ & bit) != 0) return fail(Code::kCorruption, "the vector is damaged");
  const bool rate = channel_ == store::Channel::kRate;
  const auto decode = [&]() -> Result<> {
    const std::size_t first = place_in_block(vector);
    if (parts.steps && block_->has_steps() && (decoded_steps_ & bit) == 0)
      TRY(block_->steps(first, vector_part(steps_, vector)));
    if ((parts.times || rate) && (decoded_times_ & bit) == 0)
      TRY(block_->times(first, vector_part(times_, vector)));
    if ((decoded_values_ & bit) == 0) TRY(block_->values(first, vector_part(values_, vector)));
    return {};
  };
  Result<> decoded = note_damage(decode(), block_no_);
  if (!decoded) {
    if (is_damage(decoded.error())) damaged_vectors_ |= bit;
    return decoded;
  }
  if (rate && (decoded_values_ & bit) == 0) TRY(load_rates(vector));
  decoded_values_ |= bit;
  if (parts.times || rate) decoded_times_ |= bit;
  if (parts.steps) decoded_steps_ |= bit;
  return {};
}

Result<> Cursor::load_rates(std::int64_t vector) {
  const std::int64_t session = block_->session();
  if (rates_next_ != vector || rates_session_ != session) {
    rates_.start_after(TRY(newest_before(vector * kVectorPoints, session)));
    rates_session_ = session;
  }
  to_rates(rates_, vector_part(times_, vector), vector_part(values_, vector),
           vector_part(since_, vector));
  rates_next_ = vector + 1;
  return {};
}

// The newest finite sample of a vector; nullopt also where it is damaged.
Result<Cursor::Sample> Cursor::newest_in(const store::Block& block, std::int64_t vector) {
  std::array<double, kVectorPoints> values;
  const std::size_t first = place_in_block(vector);
  const std::int64_t no = vector / kVectorsOfBlock;
  if (!note_damage(block.values(first, values), no)) return std::nullopt;
  for (std::size_t i = values.size(); i-- > 0;) {
    if (!std::isfinite(values[i])) continue;
    codec::CounterSample sample{.time = 0, .value = values[i]};
    if (!note_damage(block.times(first + i, {&sample.time, 1}), no)) return std::nullopt;
    return sample;
  }
  return std::nullopt;
}

// The newest finite sample of a session in blocks before a vector; damaged ones are passed over.
Result<Cursor::Sample> Cursor::newest_before(std::int64_t order, std::int64_t session) {
  const std::int64_t last = order / kVectorPoints - 1;
  const std::int64_t oldest = (last / kVectorsOfBlock - kBlocksLookedBack + 1) * kVectorsOfBlock;
  for (std::int64_t v = last; v >= std::max<std::int64_t>(oldest, 0); --v) {
    const std::int64_t no = v / kVectorsOfBlock;
    const auto found = block(no);
    if (!found && !is_damage(found.error())) return tl::unexpected<Error>(found.error());
    if (!found) damaged_blocks_.insert(no);
    if (!found || (*found)->session() != session) {
      v = no * kVectorsOfBlock;
      continue;
    }
    if (const Sample sample = TRY(newest_in(**found, v))) return sample;
  }
  return Sample{};
}

// ---- recent points
Result<> Cursor::prepare_chunks() {
  if (chunks_ready_) return {};
  const bool rate = channel_ == store::Channel::kRate;
  std::int64_t order = in_blocks_;
  for (const store::Chunk& chunk : recent_) {
    Recent& recent = chunks_.emplace_back();
    recent.span = {.order = order,
                   .session = chunk.session,
                   .times = *chunk.times,
                   .steps = {},
                   .values = chunk.values,
                   .since = {}};
    if (chunk.steps != nullptr) recent.span.steps = *chunk.steps;
    order += static_cast<std::int64_t>(chunk.values.size());
  }
  if (rate && late_ == LateChunks::kInOrderOfTime) merge_late_chunks();
  std::unordered_map<std::int64_t, codec::CounterRates> sessions;
  for (Recent& recent : chunks_) {
    if (!rate) break;
    PointSpan& span = recent.span;
    const auto [entry, first] = sessions.try_emplace(span.session);
    if (first) entry->second.start_after(TRY(newest_before(in_blocks_, span.session)));
    if (recent.values.empty()) recent.values.assign(span.values.begin(), span.values.end());
    recent.since.resize(span.size());
    to_rates(entry->second, span.times, recent.values, recent.since);
    span.values = recent.values;
    span.since = recent.since;
  }
  chunks_ready_ = true;
  return {};
}

void Cursor::merge_late_chunks() {
  std::map<std::int64_t, std::vector<Recent*>> sessions;
  for (Recent& recent : chunks_)
    if (recent.span.size() > 0) sessions[recent.span.session].push_back(&recent);
  for (auto& [session, parts] : sessions) {
    const auto overlap = [](const Recent* a, const Recent* b) {
      return b->span.times.front() < a->span.times.back();
    };
    if (std::ranges::adjacent_find(parts, overlap) == parts.end()) continue;
    std::vector<std::pair<std::int64_t, double>> points;
    for (Recent* part : parts) {
      for (std::size_t i = 0; i < part->span.size(); ++i)
        points.emplace_back(part->span.times[i], part->span.values[i]);
      part->span = part->span.part(0, 0);
    }
    std::ranges::stable_sort(points, {}, &std::pair<std::int64_t, double>::first);
    Recent& all = *parts.front();
    for (const auto& [time, value] : points) {
      all.times.push_back(time);
      all.values.push_back(value);
    }
    all.span.times = all.times;
    all.span.values = all.values;
  }
}

Result<PointSpan> Cursor::chunk(std::size_t no, PointParts parts) {
  TRY(prepare_chunks());
  PointSpan span = chunks_[no].span;
  if (!parts.steps) span.steps = {};
  return span;
}

Result<Cursor::At> Cursor::at(std::int64_t order, bool step) {
  At found;
  if (order >= in_blocks_) {
    std::int64_t index = order - in_blocks_;
    auto chunk = recent_.begin();
    while (index >= std::ssize(chunk->values)) index -= std::ssize((chunk++)->values);
    found.time = (*chunk->times)[static_cast<std::size_t>(index)];
    if (chunk->steps != nullptr) found.step = (*chunk->steps)[static_cast<std::size_t>(index)];
    return found;
  }
  const std::int64_t no = order / kBlockPoints;
  const BlockPtr block = TRY(this->block(no));
  const auto index = static_cast<std::size_t>(order % kBlockPoints);
  TRY(note_damage(block->times(index, {&found.time, 1}), no));
  if (step && block->has_steps()) {
    found.step = 0;
    TRY(note_damage(block->steps(index, {&*found.step, 1}), no));
  }
  return found;
}

Lost Cursor::lost(GridAxis axis, const AxisCells& range) const {
  Lost lost{.points = lost_points_, .spans = false};
  for (const store::Damage& d : view_.damaged(series_))
    if (axis == GridAxis::kStep || (d.t1 >= range.begin() && d.t0 < range.end())) lost.spans = true;
  return lost;
}

}  // namespace corral::query
