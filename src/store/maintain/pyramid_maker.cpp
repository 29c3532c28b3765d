#include "store/maintain/pyramid_maker.h"

#include <array>
#include <cmath>
#include <vector>

#include "store/seal/plan.h"

namespace corral::store::maintain {
namespace {

using codec::Bucket;
using codec::kBucketPoints;
using Buckets = std::array<Bucket, kBlockBuckets>;

Buckets buckets_of(const StoredBlock& block, std::span<const double> values) {
  Buckets buckets;
  const std::span<const std::int64_t> times(block.times), steps(block.steps);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::size_t first = i * kBucketPoints;
    buckets.at(i) = codec::make_bucket(times.subspan(first, kBucketPoints),
                                       steps.empty() ? steps : steps.subspan(first, kBucketPoints),
                                       values.subspan(first, kBucketPoints));
  }
  return buckets;
}

std::int64_t children_of(int tier) { return tier == 0 ? kRowBlocks : kTierRows; }

}  // namespace

Result<> PyramidMaker::add(const StoredBlock& block) {
  if (counter_) TRY(add_rates(block));
  const Buckets buckets = buckets_of(block, block.values);
  TRY(extend(Channel::kValue, 0, blocks_, {.buckets = buckets, .vague = false}));
  ++blocks_;
  session_ = block.session;
  ended_finite_ = std::isfinite(block.values.back());
  return {};
}

Result<> PyramidMaker::add_rates(const StoredBlock& block) {
  const bool goes_on = session_ == block.session;
  if (!goes_on) rates_.start_after(std::nullopt);
  std::vector<double> rates(block.values.size());
  for (std::size_t i = 0; i < rates.size(); ++i)
    rates[i] = rates_.next(block.times[i], block.values[i]);
  const Buckets buckets = buckets_of(block, rates);
  // After a gap the last value before it is unknown.
  const bool vague = (goes_on && !ended_finite_) || (!session_ && blocks_ > 0);
  return extend(Channel::kRate, 0, blocks_, {.buckets = buckets, .vague = vague});
}

Result<> PyramidMaker::add_gap(std::int64_t t0, std::int64_t t1) {
  Buckets buckets;
  for (Bucket& bucket : buckets) {
    bucket.count = bucket.nan = kBucketPoints;
    bucket.t0 = t0;
    bucket.t1 = t1;
  }
  const Children children{.buckets = buckets, .vague = true};
  if (counter_) TRY(extend(Channel::kRate, 0, blocks_, children));
  TRY(extend(Channel::kValue, 0, blocks_, children));
  ++blocks_;
  session_.reset();
  return {};
}

Result<> PyramidMaker::extend(Channel channel, int tier, std::int64_t child,
                              const Children& children) {
  if (tier == codec::kPyramidTiers) return {};
  MadeRow& open = open_[{channel, tier}];
  open.channel = channel;
  open.tier = tier;
  open.no = child / children_of(tier);
  open.vague = open.vague || children.vague;
  codec::extend_row(open.row, children.buckets);
  if ((child + 1) % children_of(tier) != 0) return {};
  const MadeRow full = std::move(open);
  open_.erase({channel, tier});
  TRY(give(full));
  std::vector<Bucket> above;
  const std::span<const Bucket> upper(full.row.upper);
  for (std::size_t i = 0; i < upper.size(); i += codec::kFanOut)
    above.push_back(codec::join_buckets(upper.subspan(i, codec::kFanOut)));
  return extend(channel, tier + 1, full.no, {.buckets = above, .vague = full.vague});
}

Result<> PyramidMaker::give(const MadeRow& row) {
  ++rows_;
  return take_(row);
}

Result<> PyramidMaker::finish() {
  for (const auto& [key, row] : open_) TRY(give(row));
  open_.clear();
  return {};
}

}  // namespace corral::store::maintain
