#include "store/read/host_cut.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace corral::store::sql {
namespace {

constexpr std::int64_t kEight = 8;
constexpr auto kLower = static_cast<std::int64_t>(codec::kLowerBuckets);
constexpr int kWholeTier = 2;  // its lower buckets are eight blocks each
constexpr auto kPoints = static_cast<std::size_t>(codec::kColumnEntries);

bool is_damage(const Error& error) {
  return error.code == Code::kCorruption || error.code == Code::kNotFound;
}

// The part in buckets that follow each other; everything when they are not there.
Damage time_range(std::span<const codec::Bucket> buckets) {
  Damage times{.t0 = std::numeric_limits<std::int64_t>::min(),
               .t1 = std::numeric_limits<std::int64_t>::max()};
  if (buckets.empty()) return times;
  times = {.t0 = buckets.front().t0, .t1 = buckets.front().t1};
  for (const codec::Bucket& bucket : buckets) {
    times.t0 = std::min(times.t0, bucket.t0);
    times.t1 = std::max(times.t1, bucket.t1);
  }
  return times;
}

template <class T>
std::shared_ptr<const std::vector<T>> copy_part(const std::vector<T>& all, std::size_t first,
                                                std::size_t end) {
  return std::make_shared<const std::vector<T>>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                                all.begin() + static_cast<std::ptrdiff_t>(end));
}

Result<Chunk> read_chunk(const Block& block) {
  std::vector<std::int64_t> times(kPoints);
  std::vector<std::int64_t> steps(block.has_steps() ? kPoints : 0);
  Chunk chunk{.session = block.session(), .times = {}, .steps = {}, .values = {}};
  chunk.values.resize(kPoints);
  TRY(block.times(0, times));
  TRY(block.values(0, chunk.values));
  if (block.has_steps()) {
    TRY(block.steps(0, steps));
    chunk.steps = std::make_shared<const std::vector<std::int64_t>>(std::move(steps));
  }
  chunk.times = std::make_shared<const std::vector<std::int64_t>>(std::move(times));
  return chunk;
}

}  // namespace

Result<HostCut> HostCut::make(PointView& whole, SeriesId series, Window window) {
  HostCut cut(series, std::move(window));
  if (cut.window_.empty()) return cut;
  TRY(cut.add_blocks(whole));
  for (const Chunk& chunk : whole.recent(series)) cut.add_chunk(chunk);
  for (const Damage& damage : whole.damaged(series)) cut.add_damage(damage);
  cut.split_rates();
  return cut;
}

std::int64_t HostCut::block_count() const { return std::ssize(eights_) * kEight; }

Result<> HostCut::add_blocks(PointView& whole) {
  const std::int64_t blocks = whole.block_count(series_);
  for (std::int64_t eight = 0; eight * kEight < blocks; ++eight) {
    const auto buckets = find_buckets(whole, Channel::kValue, eight);
    if (!buckets && !is_damage(buckets.error())) return tl::unexpected(buckets.error());
    if (buckets) {
      const Damage times = time_range(*buckets);
      const auto met = [&](const TimeRange& range) { return range.meets(times.t0, times.t1); };
      const auto holds = [&](const TimeRange& range) { return range.covers(times.t0, times.t1); };
      if (std::ranges::none_of(window_, met)) continue;
      if (std::ranges::any_of(window_, holds)) {
        eights_.push_back(eight);
        last_eight_ = times;
        continue;
      }
    }
    TRY(add_edge(whole, eight, blocks));
  }
  return {};
}

// Blocks of which a part may lie in the window.
Result<> HostCut::add_edge(PointView& whole, std::int64_t eight, std::int64_t blocks) {
  constexpr std::size_t kOfBlock = codec::kUpperBuckets / kEight;
  const auto row = whole.pyramid(series_, Channel::kValue, 0, eight);
  if (!row && !is_damage(row.error())) return tl::unexpected(row.error());
  for (std::int64_t i = 0; i < kEight && eight * kEight + i < blocks; ++i) {
    std::span<const codec::Bucket> buckets;
    const std::size_t first = static_cast<std::size_t>(i) * kOfBlock;
    if (row && first + kOfBlock <= (*row)->upper.size())
      buckets = std::span((*row)->upper).subspan(first, kOfBlock);
    TRY(add_block(whole, eight * kEight + i, time_range(buckets)));
  }
  return {};
}

Result<> HostCut::add_block(PointView& whole, std::int64_t no, Damage times) {
  const auto met = [&](const TimeRange& range) { return range.meets(times.t0, times.t1); };
  if (std::ranges::none_of(window_, met)) return {};
  const auto block = whole.block(series_, no);
  if (!block && !is_damage(block.error())) return tl::unexpected(block.error());
  const auto chunk = block ? read_chunk(**block) : tl::unexpected(block.error());
  if (chunk) {
    add_chunk(*chunk);
  } else {
    add_damage(times);
  }
  return {};
}

void HostCut::add_chunk(const Chunk& chunk) {
  const std::vector<std::int64_t>& times = *chunk.times;
  for (std::size_t i = 0; i < window_.size(); ++i) {
    const auto first =
        static_cast<std::size_t>(std::ranges::lower_bound(times, window_[i].from) - times.begin());
    const auto end =
        static_cast<std::size_t>(std::ranges::upper_bound(times, window_[i].to) - times.begin());
    if (first >= end) continue;
    Chunk part{.session = chunk.session, .times = {}, .steps = {}, .values = {}};
    const bool all = first == 0 && end == times.size();
    part.times = all ? chunk.times : copy_part(times, first, end);
    if (chunk.steps) part.steps = all ? chunk.steps : copy_part(*chunk.steps, first, end);
    part.values = *copy_part(chunk.values, first, end);
    recent_.push_back(std::move(part));
    range_of_.push_back(i);
  }
}

void HostCut::add_damage(const Damage& damage) {
  for (const TimeRange& range : window_) {
    if (range.meets(damage.t0, damage.t1))
      damaged_.push_back(
          {.t0 = std::max(damage.t0, range.from), .t1 = std::min(damage.t1, range.to)});
  }
}

// Rates continue within a session. Points before the blocks, or in another range than the one in
// which the blocks end, get another session number, so that no rate spans points that were cut out.
void HostCut::split_rates() {
  constexpr int kSessionBits = 40;
  std::size_t goes_on = 0;
  while (!eights_.empty() && goes_on + 1 < window_.size() &&
         !window_[goes_on].covers(last_eight_.t0, last_eight_.t1))
    ++goes_on;
  for (std::size_t i = 0; i < recent_.size(); ++i) {
    const bool after = eights_.empty() || recent_[i].times->front() >= last_eight_.t1;
    if (range_of_[i] != goes_on || !after)
      recent_[i].session += static_cast<std::int64_t>(range_of_[i] + 1) << kSessionBits;
  }
}

Result<std::shared_ptr<const Block>> HostCut::block(PointView& whole, std::int64_t no) const {
  const std::int64_t eight = eights_.at(static_cast<std::size_t>(no / kEight));
  return whole.block(series_, eight * kEight + no % kEight);
}

// The buckets that eight blocks have in the lower level of a tier.
Result<std::vector<codec::Bucket>> HostCut::buckets_at(PointView& whole, Channel channel, int tier,
                                                       std::int64_t eight) const {
  const std::int64_t count = tier == 1 ? 16 : 1;
  const std::int64_t first = eight * count;
  const auto row = TRY(whole.pyramid(series_, channel, tier, first / kLower));
  const auto at = static_cast<std::size_t>(first % kLower);
  if (at + static_cast<std::size_t>(count) > row->lower.size())
    return fail(Code::kNotFound, "no such buckets");
  const auto begin = row->lower.begin() + static_cast<std::ptrdiff_t>(at);
  return std::vector(begin, begin + count);
}

// All eight blocks in one bucket, or in sixteen where the tier above is not complete yet.
Result<std::vector<codec::Bucket>> HostCut::find_buckets(PointView& whole, Channel channel,
                                                         std::int64_t eight) const {
  auto one = buckets_at(whole, channel, kWholeTier, eight);
  if (one || !is_damage(one.error())) return one;
  return buckets_at(whole, channel, 1, eight);
}

Result<std::shared_ptr<const codec::PyramidRow>> HostCut::pyramid(PointView& whole, Channel channel,
                                                                  int tier, std::int64_t no) const {
  const std::int64_t eights = std::ssize(eights_);
  const std::int64_t in_row = tier == 0 ? 1 : tier == 1 ? 16 : kLower;
  const std::int64_t first = no * in_row;
  if (tier > kWholeTier || first >= eights) return fail(Code::kNotFound, "no such pyramid row");
  const auto eight = [&](std::int64_t i) { return eights_[static_cast<std::size_t>(i)]; };
  if (tier == 0) return whole.pyramid(series_, channel, 0, eight(first));
  auto row = std::make_shared<codec::PyramidRow>();
  for (std::int64_t i = first; i < std::min(first + in_row, eights); ++i) {
    std::vector<codec::Bucket> buckets = TRY(tier == 1 ? buckets_at(whole, channel, 1, eight(i))
                                                       : find_buckets(whole, channel, eight(i)));
    if (tier == kWholeTier) buckets = {codec::join_buckets(buckets)};
    codec::extend_row(*row, buckets);
  }
  return row;
}

}  // namespace corral::store::sql
