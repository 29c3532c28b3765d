#include "store/seal/plan.h"

#include <algorithm>
#include <limits>

#include "codec/block/column.h"
#include "codec/block/rate.h"
#include "store/seal/gather.h"

namespace corral::store {
namespace {

using codec::Bucket;
using codec::kBucketPoints;
using codec::kColumnEntries;
using codec::SamplingGroup;

template <class T>
std::span<const T> block_rows(const std::vector<T>& all, std::size_t first) {
  return all.empty() ? std::span<const T>() : std::span(all).subspan(first, kColumnEntries);
}

template <class T>
void drop_front(std::vector<T>& all, std::size_t rows) {
  if (!all.empty()) all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rows));
}

// Cuts full blocks off sampling groups and carries their pyramids on.
class BlockMaker {
 public:
  // All three must outlive this object; `plan` takes what is made.
  BlockMaker(SealPlan& plan, std::map<SeriesId, SeriesToSeal>& series, const ReadPyramidRow& read)
      : plan_(plan), series_(series), read_(read) {}

  // The rest of the group that fills no block; empty when nothing is left.
  Result<codec::SamplingGroup> make(codec::SamplingGroup group);
  // Puts the pyramids' last rows into the plan.
  void finish();

 private:
  struct Key {
    SeriesId series;
    Channel channel = Channel::kValue;
    auto operator<=>(const Key&) const = default;
  };
  struct Tier {
    std::int64_t no = 0;
    codec::PyramidRow row;
  };
  // The rows of a block.
  struct Points {
    std::span<const std::int64_t> times, steps;
    std::span<const double> values;
  };
  Result<> add_block(SeriesId series, std::size_t times, const Points& points);
  Result<> add_rates(SeriesId series, std::int64_t block, const Points& points);
  Result<> add_buckets(const Key& key, std::int64_t block, const Points& points);
  Result<codec::PyramidRow> open_row(const Key& key, int tier, std::int64_t child);
  Result<> extend(const Key& key, int tier, std::int64_t child,
                  std::span<const codec::Bucket> buckets);
  Result<std::optional<codec::CounterSample>> last_sample_before(SeriesId series,
                                                                 std::int64_t block);
  void keep(const Key& key, int tier, const Tier& row);

  SealPlan& plan_;
  std::map<SeriesId, SeriesToSeal>& series_;
  const ReadPyramidRow& read_;
  std::map<Key, std::map<int, Tier>> open_;        // by tier: the last row, not full
  std::map<SeriesId, codec::CounterSample> last_;  // last points of the blocks made here
};

Result<codec::SamplingGroup> BlockMaker::make(codec::SamplingGroup group) {
  const std::size_t full = group.times.size() / kColumnEntries * kColumnEntries;
  for (std::size_t first = 0; first < full; first += kColumnEntries) {
    const Points shared{.times = block_rows(group.times, first),
                        .steps = block_rows(group.steps, first),
                        .values = {}};
    std::string& times = plan_.times.emplace_back();
    codec::append_times(times, shared.times, codec::Effort::kBest);
    if (!shared.steps.empty()) codec::append_steps(times, shared.steps, codec::Effort::kBest);
    const std::size_t number = plan_.times.size() - 1;
    for (const auto& column : group.columns) {
      Points points = shared;
      points.values = block_rows(column.values, first);
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
  counter.start_after(TRY(last_sample_before(series, block)));
  std::vector<double> rates(points.values.size());
  for (std::size_t row = 0; row < rates.size(); ++row)
    rates[row] = counter.next(points.times[row], points.values[row]);
  if (counter.before()) last_.insert_or_assign(series, *counter.before());
  return add_buckets({.series = series, .channel = Channel::kRate}, block,
                     {.times = points.times, .steps = points.steps, .values = rates});
}

// The last finite point before a block, if the block before it is of this session. If that block
// ended in values that are not finite, the first rate of this block is omitted.
Result<std::optional<codec::CounterSample>> BlockMaker::last_sample_before(SeriesId series,
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
  return extend(key, 0, block, buckets_of_block(points.times, points.steps, points.values));
}

// The row that child number `child` is to be added to; kCorruption when it does not hold exactly
// those before it.
Result<codec::PyramidRow> BlockMaker::open_row(const Key& key, int tier, std::int64_t child) {
  const std::int64_t children = children_in_row(tier);
  auto row = read_(key.series, key.channel, tier, child / children);
  if (!row && row.error().code == Code::kNotFound)
    return fail(Code::kCorruption, "a row of the pyramid is missing");
  const auto buckets = static_cast<std::size_t>(child % children) * codec::kLowerBuckets /
                       static_cast<std::size_t>(children);
  if (row && row->lower.size() != buckets)
    return fail(Code::kCorruption, "a row of the pyramid has not the buckets of its blocks");
  return row;
}

// Adds the buckets of child number `child` (a block, or a full row of the tier below) to a tier.
Result<> BlockMaker::extend(const Key& key, int tier, std::int64_t child,
                            std::span<const Bucket> buckets) {
  const std::int64_t children = children_in_row(tier);
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
  return extend(key, tier + 1, full.no, buckets_above(full.row));
}

void BlockMaker::keep(const Key& key, int tier, const Tier& row) {
  plan_.pyramid.push_back({.series = key.series,
                           .channel = key.channel,
                           .tier = tier,
                           .no = row.no,
                           .data = codec::encode_pyramid_row(row.row)});
}

void BlockMaker::finish() {
  for (const auto& [key, tiers] : open_) {
    for (const auto& [tier, row] : tiers) keep(key, tier, row);
  }
  open_.clear();
}

NewRowGroup make_row_group(std::int64_t slice, RowGroupState state,
                           std::vector<SamplingGroup> groups) {
  NewRowGroup made{.slice = slice,
                   .id = {},
                   .state = state,
                   .t0 = std::numeric_limits<std::int64_t>::max(),
                   .t1 = std::numeric_limits<std::int64_t>::min(),
                   .points = 0,
                   .data = {}};
  std::map<SeriesId, std::int64_t> points;
  for (const SamplingGroup& group : groups) {
    made.t0 = std::min(made.t0, group.times.front());
    made.t1 = std::max(made.t1, group.times.back());
    for (const auto& column : group.columns)
      made.points = std::max(
          made.points, points[column.series] += static_cast<std::int64_t>(group.times.size()));
  }
  groups = cut(std::move(groups), codec::kColumnEntries);
  made.data = codec::encode_row_group(
      groups, state == RowGroupState::kSettled ? codec::Effort::kBest : codec::Effort::kFast);
  return made;
}

// The slice that takes the next series of a kind; -1: none does.
struct OpenSlice {
  std::int64_t slice = -1;
  std::size_t members = kSliceSeries;
};

// Gives every series without a slice one; those of a sampling group come one after another. A
// host's series outlive the run, and so they share no slice with the run's.
void deal(BatchesToSeal& work, SealPlan& plan) {
  std::int64_t next = 0;
  std::array<OpenSlice, 2> open;
  for (const auto& [series, taken] : work.slices) {
    next = std::max(next, taken + 1);
    OpenSlice& mine = open.at(work.of_host.contains(series) ? 1 : 0);
    if (taken > mine.slice) mine = {.slice = taken, .members = 0};
    if (taken == mine.slice) ++mine.members;
  }
  for (const SamplingGroup& group : work.groups) {
    for (const auto& column : group.columns) {
      if (work.slices.contains(column.series)) continue;
      OpenSlice& mine = open.at(work.of_host.contains(column.series) ? 1 : 0);
      if (mine.members == kSliceSeries) mine = {.slice = next++, .members = 0};
      ++mine.members;
      work.slices.emplace(column.series, mine.slice);
      plan.dealt.emplace_back(column.series, mine.slice);
    }
  }
}

// The parts of a sampling group that belong to different slices.
std::map<std::int64_t, SamplingGroup> by_slice(SamplingGroup group,
                                               const std::map<SeriesId, std::int64_t>& slices) {
  std::map<std::int64_t, SamplingGroup> parts;
  for (auto& column : group.columns) {
    SamplingGroup& part = parts[slices.at(column.series)];
    if (part.columns.empty()) {
      part.times = group.times;
      part.steps = group.steps;
    }
    part.columns.push_back(std::move(column));
  }
  return parts;
}

}  // namespace

std::array<Bucket, kBlockBuckets> buckets_of_block(std::span<const std::int64_t> times,
                                                   std::span<const std::int64_t> steps,
                                                   std::span<const double> values) {
  std::array<Bucket, kBlockBuckets> buckets;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::size_t first = i * kBucketPoints;
    buckets[i] = codec::make_bucket(times.subspan(first, kBucketPoints),
                                    steps.empty() ? steps : steps.subspan(first, kBucketPoints),
                                    values.subspan(first, kBucketPoints));
  }
  return buckets;
}

std::vector<Bucket> buckets_above(const codec::PyramidRow& row) {
  std::vector<Bucket> above;
  const std::span<const Bucket> upper(row.upper);
  for (std::size_t i = 0; i < upper.size(); i += codec::kFanOut)
    above.push_back(codec::join_buckets(upper.subspan(i, codec::kFanOut)));
  return above;
}

std::int64_t buckets_in_row(std::int64_t blocks, int tier, std::int64_t no) {
  std::int64_t children = blocks;  // blocks, or complete rows of the tier below
  for (int below = 0; below < tier; ++below) children /= children_in_row(below);
  const std::int64_t most = children_in_row(tier);
  const std::int64_t mine = std::clamp<std::int64_t>(children - no * most, 0, most);
  return mine * static_cast<std::int64_t>(codec::kLowerBuckets) / most;
}

SealPlan seal_batches(BatchesToSeal work) {
  SealPlan plan;
  plan.session = work.session;
  deal(work, plan);
  plan.batches = std::move(work.rows);
  std::map<std::int64_t, std::vector<SamplingGroup>> slices;
  for (SamplingGroup& group : work.groups) {
    for (auto& [slice, part] : by_slice(std::move(group), work.slices))
      slices[slice].push_back(std::move(part));
  }
  for (auto& [slice, groups] : slices) {
    SliceStatistics& statistics = plan.statistics[slice];
    const auto before = work.statistics.find(slice);
    if (before != work.statistics.end()) statistics = std::move(before->second);
    add_groups(statistics, groups);
    plan.new_groups.push_back(make_row_group(slice, work.state, std::move(groups)));
  }
  return plan;
}

Result<SealPlan> seal_row_groups(RowGroupsToSeal work, const ReadPyramidRow& read) {
  SealPlan plan;
  plan.session = work.session;
  plan.row_groups = std::move(work.rows);
  BlockMaker maker(plan, work.series, read);
  std::vector<SamplingGroup> rest;
  for (SamplingGroup& group : work.groups) {
    SamplingGroup left = TRY(maker.make(std::move(group)));
    if (!left.times.empty()) rest.push_back(std::move(left));
  }
  maker.finish();
  if (!rest.empty()) {
    plan.new_groups.push_back(make_row_group(work.slice, work.state, std::move(rest)));
    plan.new_groups.back().id = plan.row_groups.back();
  }
  return plan;
}

}  // namespace corral::store
