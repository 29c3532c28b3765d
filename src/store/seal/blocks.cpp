#include "store/seal/blocks.h"

#include <array>

#include "codec/block/column.h"
#include "codec/block/rate.h"

namespace corral::store {
namespace {

using codec::Bucket;
using codec::kBucketPoints;
using codec::kColumnEntries;

template <class T>
std::span<const T> rows_of(const std::vector<T>& all, std::size_t first) {
  return all.empty() ? std::span<const T>() : std::span(all).subspan(first, kColumnEntries);
}

template <class T>
void drop_front(std::vector<T>& all, std::size_t rows) {
  if (!all.empty()) all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rows));
}

// Rows of `below` that make one of tier `tier`.
std::int64_t children_of(std::size_t tier) { return tier == 0 ? kRowBlocks : kTierRows; }

}  // namespace

Result<codec::SamplingGroup> BlockMaker::make(codec::SamplingGroup group) {
  const std::size_t full = group.times.size() / kColumnEntries * kColumnEntries;
  for (std::size_t first = 0; first < full; first += kColumnEntries) {
    const Points shared{
        .times = rows_of(group.times, first), .steps = rows_of(group.steps, first), .values = {}};
    std::string& times = plan_.times.emplace_back();
    codec::append_times(times, shared.times, codec::Effort::kBest);
    if (!shared.steps.empty()) codec::append_steps(times, shared.steps, codec::Effort::kBest);
    const std::size_t number = plan_.times.size() - 1;
    for (const auto& column : group.columns) {
      Points points = shared;
      points.values = rows_of(column.values, first);
      TRY(add_block(column.series, number, points));
    }
  }
  drop_front(group.times, full);
  drop_front(group.steps, full);
  for (auto& column : group.columns) drop_front(column.values, full);
  return group;
}

Result<> BlockMaker::add_block(SeriesId series, std::size_t times, const Points& points) {
  SeriesToSeal& known = series_.at(series);
  const std::int64_t no = known.blocks;
  NewBlock& block = plan_.blocks.emplace_back();
  block.series = series;
  block.no = no;
  block.times = times;
  codec::append_values(block.data, points.values, codec::Effort::kBest);
  plan_.block_counts.try_emplace(series, no, no).first->second.second = no + 1;
  if (known.counter) TRY(add_rates(series, no, points));
  TRY(add_buckets({.series = series, .channel = Channel::kValue}, no, points));
  ++known.blocks;
  known.last_session = plan_.session;
  return {};
}

Result<> BlockMaker::add_rates(SeriesId series, std::int64_t block, const Points& points) {
  codec::CounterRates counter;
  counter.start_after(TRY(last_of(series, block)));
  std::vector<double> rates(points.values.size());
  for (std::size_t row = 0; row < rates.size(); ++row)
    rates[row] = counter.next(points.times[row], points.values[row]);
  if (counter.before()) last_.insert_or_assign(series, *counter.before());
  return add_buckets({.series = series, .channel = Channel::kRate}, block,
                     {.times = points.times, .steps = points.steps, .values = rates});
}

// The last finite point before a block, if the block before it is of this session. If that block
// ended in values that are not finite, the first rate of this block is omitted.
Result<std::optional<codec::CounterSample>> BlockMaker::last_of(SeriesId series,
                                                                std::int64_t block) {
  if (const auto made = last_.find(series); made != last_.end()) return made->second;
  if (block == 0 || series_.at(series).last_session != plan_.session) return std::nullopt;
  const auto row = read_(series, Channel::kValue, 0, (block - 1) / kRowBlocks);
  const bool damaged =
      !row && (row.error().code == Code::kCorruption || row.error().code == Code::kNotFound);
  if (!row && !damaged) return tl::unexpected(row.error());
  if (!row || row->lower.empty()) return std::nullopt;
  const Bucket& bucket = row->lower.back();
  if (bucket.count == bucket.not_finite() || bucket.last_at + 1 != bucket.count)
    return std::nullopt;
  return codec::CounterSample{.time = bucket.t1, .value = bucket.last};
}

Result<> BlockMaker::add_buckets(const Key& key, std::int64_t block, const Points& points) {
  std::array<Bucket, kBlockBuckets> buckets;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::size_t first = i * kBucketPoints;
    buckets[i] = codec::make_bucket(
        points.times.subspan(first, kBucketPoints),
        points.steps.empty() ? points.steps : points.steps.subspan(first, kBucketPoints),
        points.values.subspan(first, kBucketPoints));
  }
  return extend(key, 0, block, buckets);
}

// The row that child number `child` is to be added to; kCorruption when it does not hold exactly
// those before it.
Result<codec::PyramidRow> BlockMaker::open_row(const Key& key, std::size_t tier,
                                               std::int64_t child) {
  const std::int64_t children = children_of(tier);
  auto row = read_(key.series, key.channel, static_cast<int>(tier), child / children);
  if (!row && row.error().code == Code::kNotFound)
    return fail(Code::kCorruption, "a row of the pyramid is missing");
  const auto buckets = static_cast<std::size_t>(child % children) * codec::kLowerBuckets /
                       static_cast<std::size_t>(children);
  if (row && row->lower.size() != buckets)
    return fail(Code::kCorruption, "a row of the pyramid has not the buckets of its blocks");
  return row;
}

// Adds the buckets of child number `child` (a block, or a full row of the tier below) to a tier.
Result<> BlockMaker::extend(const Key& key, std::size_t tier, std::int64_t child,
                            std::span<const Bucket> buckets) {
  const std::int64_t children = children_of(tier);
  auto& tiers = open_[key];
  auto known = tiers.find(tier);
  if (known == tiers.end()) {
    Tier opened{.no = child / children, .row = {}};
    if (child % children != 0) opened.row = TRY(open_row(key, tier, child));
    known = tiers.emplace(tier, std::move(opened)).first;
  }
  codec::extend_row(known->second.row, buckets);
  if ((child + 1) % children != 0) return {};
  const Tier full = std::move(known->second);
  tiers.erase(known);
  keep(key, tier, full);
  std::vector<Bucket> above;
  const std::span<const Bucket> upper(full.row.upper);
  for (std::size_t i = 0; i < upper.size(); i += codec::kFanOut)
    above.push_back(codec::join_buckets(upper.subspan(i, codec::kFanOut)));
  return extend(key, tier + 1, full.no, above);
}

void BlockMaker::keep(const Key& key, std::size_t tier, const Tier& row) {
  plan_.pyramid.push_back({.series = key.series,
                           .channel = key.channel,
                           .tier = static_cast<int>(tier),
                           .no = row.no,
                           .data = codec::encode_pyramid_row(row.row)});
}

void BlockMaker::finish() {
  for (const auto& [key, tiers] : open_) {
    for (const auto& [tier, row] : tiers) keep(key, tier, row);
  }
  open_.clear();
}

}  // namespace corral::store
