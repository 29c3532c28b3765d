#include "codec/block/pyramid.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "codec/block/column.h"
#include "codec/block/vector.h"
#include "codec/crc32c.h"
#include "codec/wire.h"

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
std::uint32_t find_value(double value, std::span<const double> values) {
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
  bucket.min_at = find_value(all.min, values);
  bucket.max_at = find_value(all.max, values);
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

// ---- rows
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 18;
constexpr std::size_t kCrcBytes = 4;
constexpr std::uint8_t kBaseFlag = 0x40;

// kBest would save 2 % to 25 % of a row, and double the time that it takes to make and to read it.
constexpr Effort kValueEffort = Effort::kFast;

// The kinds of steps in a bucket.
constexpr std::uint32_t kNoSteps = 0, kAscending = 1, kFalling = 2;

// The fields of a bucket that are small numbers; each of them is a list of a level.
enum Small { kCount, kMinAt, kMaxAt, kFirstAt, kAfterLast, kNan, kPositive, kNegative, kSteps };
constexpr std::size_t kLists = 9;
using List = std::array<std::uint64_t, kLowerBuckets>;
using Lists = std::array<List, kLists>;

void to_lists(Lists& lists, std::size_t i, const Bucket& b) {
  const bool any = b.count != b.not_finite();
  lists[kCount][i] = b.count;
  lists[kMinAt][i] = b.min_at;
  lists[kMaxAt][i] = b.max_at;
  lists[kFirstAt][i] = b.first_at;
  lists[kAfterLast][i] = any ? b.count - 1 - b.last_at : 0;
  lists[kNan][i] = b.nan;
  lists[kPositive][i] = b.positive_infinity;
  lists[kNegative][i] = b.negative_infinity;
  lists[kSteps][i] = !b.has_steps() ? kNoSteps : b.steps_ascend ? kAscending : kFalling;
}
// False: they cannot be. No position lies behind the bucket.
bool from_lists(const Lists& lists, std::size_t i, Bucket& b) {
  const std::uint64_t count = lists[kCount][i];
  const std::uint64_t not_finite = lists[kNan][i] + lists[kPositive][i] + lists[kNegative][i];
  const std::uint64_t after_last = lists[kAfterLast][i];
  const std::uint64_t steps = lists[kSteps][i];
  if (count > kMostBucketPoints || not_finite > count || steps > kFalling) return false;
  // Without finite values all positions are 0.
  const std::uint64_t end = not_finite == count ? 1 : count;
  if (lists[kMinAt][i] >= end || lists[kMaxAt][i] >= end || lists[kFirstAt][i] >= end ||
      after_last >= end)
    return false;
  const auto small = [&](Small k) { return static_cast<std::uint32_t>(lists[k][i]); };
  b.count = small(kCount);
  b.min_at = small(kMinAt);
  b.max_at = small(kMaxAt);
  b.first_at = small(kFirstAt);
  b.last_at = static_cast<std::uint32_t>(not_finite == count ? 0 : count - 1 - after_last);
  b.nan = small(kNan);
  b.positive_infinity = small(kPositive);
  b.negative_infinity = small(kNegative);
  b.steps_ascend = steps != kFalling;
  // The steps themselves are in a column that has only those of buckets with steps.
  if (steps != kNoSteps) b.s0 = b.s1 = 0;
  return true;
}

// u8 width in bits and kBaseFlag, u32 base when the flag is set, then entries less the base.
void put_list(std::string& out, std::span<std::uint64_t> list) {
  const auto [least, most] = std::minmax_element(list.begin(), list.end());
  const auto plain = static_cast<unsigned>(std::bit_width(*most));
  const auto offset = static_cast<unsigned>(std::bit_width(*most - *least));
  const bool with_base =
      packed_bytes(list.size(), offset) + sizeof(std::uint32_t) < packed_bytes(list.size(), plain);
  if (!with_base) {
    put(out, static_cast<std::uint8_t>(plain));
    return pack(out, list, plain);
  }
  const std::uint64_t base = *least;
  put(out, static_cast<std::uint8_t>(offset | kBaseFlag));
  put(out, static_cast<std::uint32_t>(base));
  for (std::uint64_t& entry : list) entry -= base;
  pack(out, list, offset);
}

void get_list(WireReader& in, std::span<std::uint64_t> list) {
  const auto head = in.get<std::uint8_t>("width");
  const unsigned width = head & ~unsigned{kBaseFlag};
  if (width > 32) in.bad("width", "more than 32 bits");
  const std::uint32_t base = (head & kBaseFlag) != 0 ? in.get<std::uint32_t>("base") : 0;
  const auto bytes = in.take(packed_bytes(list.size(), width), "list");
  if (!in.ok()) return;
  unpack(bytes, width, list);
  for (std::uint64_t& entry : list) entry += base;
}

void put_lists(std::string& out, std::span<const Bucket> buckets) {
  Lists lists;
  for (std::size_t i = 0; i < buckets.size(); ++i) to_lists(lists, i, buckets[i]);
  const std::size_t begin = out.size();
  for (List& list : lists) put_list(out, std::span(list).first(buckets.size()));
  put(out, crc32c(out.data() + begin, out.size() - begin));
}

// Takes the lists off the front of `bytes`.
Result<std::vector<Bucket>> get_lists(std::span<const std::uint8_t>& bytes, std::size_t count) {
  Lists lists;
  WireReader in(bytes);
  for (List& list : lists) get_list(in, std::span(list).first(count));
  const std::size_t size = bytes.size() - in.remaining();
  const auto crc = in.get<std::uint32_t>("checksum");
  if (!in.ok() || crc != crc32c(bytes.data(), size))
    return fail(Code::kCorruption, "checksum of a level of the pyramid does not match");
  bytes = bytes.subspan(size + kCrcBytes);
  std::vector<Bucket> buckets(count, Bucket{});
  for (std::size_t i = 0; i < count; ++i) {
    if (!from_lists(lists, i, buckets[i]))
      return fail(Code::kCorruption, "a bucket of the pyramid has impossible counts");
  }
  return buckets;
}

// Takes a column of so many entries off the front of `bytes`.
template <class T>
Result<> get_column(std::span<const std::uint8_t>& bytes, std::span<T> out) {
  const ColumnReader<T> reader = TRY(ColumnReader<T>::open(bytes));
  if (reader.entries() != out.size())
    return fail(Code::kCorruption, "a column of the pyramid has the wrong number of entries");
  TRY(reader.read(0, out));
  bytes = bytes.subspan(reader.bytes());
  return {};
}

void put_values(std::string& out, std::span<const Bucket> buckets) {
  const std::size_t n = buckets.size();
  std::vector<double> values(4 * n);
  std::vector<double> sums(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = buckets[i].min;
    values[n + i] = buckets[i].max;
    values[2 * n + i] = buckets[i].first;
    values[3 * n + i] = buckets[i].last;
    sums[i] = buckets[i].sum;
  }
  append_values(out, values, kValueEffort);
  append_values(out, sums, kValueEffort);
}
Result<> get_values(std::span<const std::uint8_t>& bytes, std::span<Bucket> buckets) {
  const std::size_t n = buckets.size();
  std::array<double, 4 * kLowerBuckets> values;
  std::array<double, kLowerBuckets> sums;
  TRY(get_column(bytes, std::span(values).first(4 * n)));
  TRY(get_column(bytes, std::span(sums).first(n)));
  double check = 0;  // a sum that stays 0 for finite numbers
  for (std::size_t i = 0; i < n; ++i) {
    Bucket& b = buckets[i];
    b.min = values[i];
    b.max = values[n + i];
    b.first = values[2 * n + i];
    b.last = values[3 * n + i];
    b.sum = sums[i];
    check += b.min * 0 + b.max * 0 + b.first * 0 + b.last * 0 + (b.min <= b.max ? 0 : 1);
  }
  if (check != 0) return fail(Code::kCorruption, "a bucket of the pyramid is not finite");
  return {};
}

void put_times(std::string& out, std::span<const Bucket> buckets) {
  std::vector<std::int64_t> times;
  times.reserve(2 * buckets.size());
  for (const Bucket& b : buckets) {
    times.push_back(b.t0);
    times.push_back(b.t1);
  }
  append_times(out, times, Effort::kBest);
}
Result<> get_times(std::span<const std::uint8_t>& bytes, std::span<Bucket> buckets) {
  std::array<std::int64_t, 2 * kLowerBuckets> times;
  TRY(get_column(bytes, std::span(times).first(2 * buckets.size())));
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    buckets[i].t0 = times[2 * i];
    buckets[i].t1 = times[2 * i + 1];
    if (buckets[i].t0 > buckets[i].t1)
      return fail(Code::kCorruption, "a bucket of the pyramid ends before it begins");
  }
  return {};
}

void put_steps(std::string& out, std::span<const Bucket> buckets) {
  std::vector<std::int64_t> steps;
  for (const Bucket& b : buckets) {
    if (!b.has_steps()) continue;
    steps.push_back(b.s0);
    steps.push_back(b.s1);
  }
  if (!steps.empty()) append_steps(out, steps, Effort::kBest);
}
Result<> get_steps(std::span<const std::uint8_t>& bytes, std::span<Bucket> buckets) {
  const auto with = static_cast<std::size_t>(
      std::count_if(buckets.begin(), buckets.end(), [](const Bucket& b) { return b.has_steps(); }));
  if (with == 0) return {};
  std::array<std::int64_t, 2 * kLowerBuckets> steps;
  TRY(get_column(bytes, std::span(steps).first(2 * with)));
  std::size_t at = 0;
  for (Bucket& b : buckets) {
    if (!b.has_steps()) continue;
    b.s0 = steps[at++];
    b.s1 = steps[at++];
    if (!b.has_steps()) return fail(Code::kCorruption, "a bucket of the pyramid has no steps");
  }
  return {};
}

std::string encode_level(std::span<const Bucket> buckets) {
  std::string out;
  if (buckets.empty()) return out;
  put_lists(out, buckets);
  put_values(out, buckets);
  put_times(out, buckets);
  put_steps(out, buckets);
  return out;
}
Result<std::vector<Bucket>> decode_level(std::span<const std::uint8_t> bytes, std::size_t count) {
  std::vector<Bucket> buckets;
  if (count > 0) {
    buckets = TRY(get_lists(bytes, count));
    TRY(get_values(bytes, buckets));
    TRY(get_times(bytes, buckets));
    TRY(get_steps(bytes, buckets));
  }
  if (!bytes.empty()) return fail(Code::kCorruption, "a level of the pyramid is too long");
  return buckets;
}

struct Level {
  std::size_t buckets = 0;
  std::span<const std::uint8_t> bytes;
};
struct Levels {
  Level lower, upper;
};
Result<Levels> open_levels(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return fail(Code::kCorruption, "the row of the pyramid is empty");
  if (bytes[0] > kVersion)
    return fail(Code::kUnsupported, "the row of the pyramid has a newer version");
  WireReader in(bytes);
  const auto version = in.get<std::uint8_t>("version");
  const auto zero = in.get<std::uint8_t>("zero");
  Levels all;
  all.lower.buckets = in.get<std::uint16_t>("lower buckets");
  all.upper.buckets = in.get<std::uint16_t>("upper buckets");
  const auto lower_bytes = in.get<std::uint32_t>("lower bytes");
  const auto upper_bytes = in.get<std::uint32_t>("upper bytes");
  const auto crc = in.get<std::uint32_t>("checksum");
  if (!in.ok() || crc != crc32c(bytes.data(), kHeaderBytes - kCrcBytes))
    return fail(Code::kCorruption, "checksum of a row of the pyramid does not match");
  const std::uint64_t size = std::uint64_t{lower_bytes} + upper_bytes;
  if (version != kVersion || zero != 0 || all.lower.buckets > kLowerBuckets ||
      all.upper.buckets > kUpperBuckets || size != in.remaining())
    return fail(Code::kCorruption, "header of a row of the pyramid is invalid");
  all.lower.bytes = in.take(lower_bytes, "lower");
  all.upper.bytes = in.take(upper_bytes, "upper");
  return all;
}

}  // namespace

std::string encode_pyramid_row(const PyramidRow& row) {
  CORRAL_ASSERT(row.lower.size() <= kLowerBuckets && row.upper.size() <= kUpperBuckets);
  const std::string lower = encode_level(row.lower);
  const std::string upper = encode_level(row.upper);
  std::string out;
  out.reserve(kHeaderBytes + lower.size() + upper.size());
  put(out, kVersion);
  put(out, std::uint8_t{0});
  put(out, static_cast<std::uint16_t>(row.lower.size()));
  put(out, static_cast<std::uint16_t>(row.upper.size()));
  put(out, static_cast<std::uint32_t>(lower.size()));
  put(out, static_cast<std::uint32_t>(upper.size()));
  put(out, crc32c(out.data(), out.size()));
  return out + lower + upper;
}

Result<PyramidRow> decode_pyramid_row(std::span<const std::uint8_t> bytes) {
  const Levels levels = TRY(open_levels(bytes));
  PyramidRow row;
  row.lower = TRY(decode_level(levels.lower.bytes, levels.lower.buckets));
  row.upper = TRY(decode_level(levels.upper.bytes, levels.upper.buckets));
  return row;
}
Result<std::vector<Bucket>> decode_lower(std::span<const std::uint8_t> bytes) {
  const Levels levels = TRY(open_levels(bytes));
  return decode_level(levels.lower.bytes, levels.lower.buckets);
}
Result<std::vector<Bucket>> decode_upper(std::span<const std::uint8_t> bytes) {
  const Levels levels = TRY(open_levels(bytes));
  return decode_level(levels.upper.bytes, levels.upper.buckets);
}

}  // namespace corral::codec
