#include "codec/block/pyramid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace corral::codec {
namespace {

// Point i is added to partial sum i mod kLanes; the partial sums are added as a balanced tree. So a
// sum is the same on every machine, and its error grows with n / kLanes.
constexpr std::size_t kLanes = 8;
using Lanes = std::array<double, kLanes>;
using Pair = double __attribute__((vector_size(16)));
using PairMask = std::int64_t __attribute__((vector_size(16)));
constexpr std::size_t kPairs = kLanes / 2;

// By hand, because the compiler keeps the pairs in registers only when the loop is gone.
template <class Do>
inline void each_pair(Do&& act) {
  act(0);
  act(1);
  act(2);
  act(3);
}
static_assert(kPairs == 4);

Pair load(const double* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

double total(const Lanes& lanes) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

struct Extremes {
  double min = 0, max = 0, sum = 0;
};

// Takes at least one value. A value that is not finite makes the sum so too; then min and max mean
// nothing.
Extremes scan(std::span<const double> values) {
  std::array<Pair, kPairs> low;
  std::array<Pair, kPairs> high;
  std::array<Pair, kPairs> sums{};
  low.fill(Pair{values[0], values[0]});
  high = low;
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    each_pair([&](std::size_t k) __attribute__((always_inline)) {
      const Pair pair = load(values.data() + i + 2 * k);
      low[k] = pair < low[k] ? pair : low[k];
      high[k] = pair > high[k] ? pair : high[k];
      sums[k] += pair;
    });
  }
  for (std::size_t k = 1; k < kPairs; ++k) {
    low[0] = low[k] < low[0] ? low[k] : low[0];
    high[0] = high[k] > high[0] ? high[k] : high[0];
  }
  Lanes lanes;
  std::memcpy(lanes.data(), sums.data(), sizeof lanes);
  Extremes all{.min = std::min(low[0][0], low[0][1]), .max = std::max(high[0][0], high[0][1])};
  for (std::size_t i = whole; i < values.size(); ++i) {
    lanes[i - whole] += values[i];
    all.min = std::min(all.min, values[i]);
    all.max = std::max(all.max, values[i]);
  }
  all.sum = total(lanes);
  return all;
}

// Returns the position of a value that is present.
std::uint32_t position_of(double value, std::span<const double> values) {
  std::size_t i = 0;
  for (const Pair wanted{value, value}; i + kLanes <= values.size(); i += kLanes) {
    PairMask found{};
    each_pair([&](std::size_t k) __attribute__((always_inline)) {
      found |= load(values.data() + i + 2 * k) == wanted;
    });
    if ((found[0] | found[1]) != 0) break;
  }
  while (values[i] != value) ++i;
  return static_cast<std::uint32_t>(i);
}

void add_finite(Bucket& bucket, const Extremes& all, std::span<const double> values) {
  bucket.min_at = position_of(all.min, values);
  bucket.max_at = position_of(all.max, values);
  bucket.last_at = bucket.count - 1;
  bucket.min = values[bucket.min_at];
  bucket.max = values[bucket.max_at];
  bucket.first = values.front();
  bucket.last = values.back();
  bucket.sum = all.sum;
}

// Values of which some are not finite, or of which the sum is not.
void add_any(Bucket& bucket, std::span<const double> values) {
  Lanes lanes{};
  bool any = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    if (!std::isfinite(value)) {
      auto& count = std::isnan(value) ? bucket.nan
                    : value > 0       ? bucket.positive_infinity
                                      : bucket.negative_infinity;
      ++count;
      continue;
    }
    const auto at = static_cast<std::uint32_t>(i);
    if (!any) {
      bucket.min = bucket.max = bucket.first = value;
      bucket.min_at = bucket.max_at = bucket.first_at = at;
      any = true;
    }
    if (value < bucket.min) bucket.min = value, bucket.min_at = at;
    if (value > bucket.max) bucket.max = value, bucket.max_at = at;
    bucket.last = value;
    bucket.last_at = at;
    lanes[i % kLanes] += value;
  }
  bucket.sum = total(lanes);
}

void add_steps(Bucket& bucket, std::span<const std::int64_t> steps) {
  unsigned falls = 0;
  for (std::size_t i = 1; i < steps.size(); ++i)
    falls |= static_cast<unsigned>(steps[i] < steps[i - 1]);
  bucket.steps_ascend = falls == 0;
  bucket.s0 = steps.front();
  bucket.s1 = steps.back();
  if (bucket.steps_ascend) return;
  const auto [least, greatest] = std::minmax_element(steps.begin(), steps.end());
  bucket.s0 = *least;
  bucket.s1 = *greatest;
}

// `part` begins at position all.count.
void join_values(Bucket& all, const Bucket& part) {
  if (part.count == part.not_finite()) return;
  const bool first = all.count == all.not_finite();
  if (first) {
    all.first = part.first;
    all.first_at = all.count + part.first_at;
  }
  if (first || part.min < all.min) {
    all.min = part.min;
    all.min_at = all.count + part.min_at;
  }
  if (first || part.max > all.max) {
    all.max = part.max;
    all.max_at = all.count + part.max_at;
  }
  all.last = part.last;
  all.last_at = all.count + part.last_at;
  all.sum += part.sum;
}

void join_times_and_steps(Bucket& all, const Bucket& part) {
  if (all.count == 0) {
    all.t0 = part.t0;
    all.t1 = part.t1;
    all.steps_ascend = part.steps_ascend;
  } else {
    all.t0 = std::min(all.t0, part.t0);
    all.t1 = std::max(all.t1, part.t1);
    const bool same = all.has_steps() == part.has_steps();
    const bool goes_on = !part.has_steps() || all.s1 <= part.s0;
    all.steps_ascend = all.steps_ascend && part.steps_ascend && same && goes_on;
  }
  all.s0 = std::min(all.s0, part.s0);
  all.s1 = std::max(all.s1, part.s1);
}

}  // namespace

Bucket make_bucket(std::span<const std::int64_t> times, std::span<const std::int64_t> steps,
                   std::span<const double> values) {
  CORRAL_ASSERT(times.size() == values.size() && (steps.empty() || steps.size() == times.size()));
  CORRAL_ASSERT(values.size() <= kMostBucketPoints);
  Bucket bucket;
  if (values.empty()) return bucket;
  CORRAL_ASSERT(times.front() <= times.back());
  bucket.count = static_cast<std::uint32_t>(values.size());
  bucket.t0 = times.front();
  bucket.t1 = times.back();
  if (!steps.empty()) add_steps(bucket, steps);
  const Extremes all = scan(values);
  if (std::isfinite(all.sum)) {
    add_finite(bucket, all, values);
  } else {
    add_any(bucket, values);
  }
  return bucket;
}

Bucket join_buckets(std::span<const Bucket> parts) {
  Bucket all;
  for (const Bucket& part : parts) {
    if (part.count == 0) continue;
    CORRAL_ASSERT(part.count <= kMostBucketPoints - all.count);
    join_values(all, part);
    join_times_and_steps(all, part);
    all.count += part.count;
    all.nan += part.nan;
    all.positive_infinity += part.positive_infinity;
    all.negative_infinity += part.negative_infinity;
  }
  return all;
}

void extend_row(PyramidRow& row, std::span<const Bucket> lower) {
  CORRAL_ASSERT(row.lower.size() + lower.size() <= kLowerBuckets);
  row.lower.insert(row.lower.end(), lower.begin(), lower.end());
  const std::span<const Bucket> all(row.lower);
  while ((row.upper.size() + 1) * kFanOut <= all.size())
    row.upper.push_back(join_buckets(all.subspan(row.upper.size() * kFanOut, kFanOut)));
}

}  // namespace corral::codec
