#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "codec/block/bit_packing.h"
#include "codec/block/column.h"
#include "codec/block/pyramid.h"
#include "codec/crc32c.h"
#include "codec/wire.h"

namespace corral::codec {
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

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

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
Result<> take_column(std::span<const std::uint8_t>& bytes, std::span<T> out) {
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
Result<> take_values(std::span<const std::uint8_t>& bytes, std::span<Bucket> buckets) {
  const std::size_t n = buckets.size();
  std::array<double, 4 * kLowerBuckets> values;
  std::array<double, kLowerBuckets> sums;
  TRY(take_column(bytes, std::span(values).first(4 * n)));
  TRY(take_column(bytes, std::span(sums).first(n)));
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
Result<> take_times(std::span<const std::uint8_t>& bytes, std::span<Bucket> buckets) {
  std::array<std::int64_t, 2 * kLowerBuckets> times;
  TRY(take_column(bytes, std::span(times).first(2 * buckets.size())));
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
Result<> take_steps(std::span<const std::uint8_t>& bytes, std::span<Bucket> buckets) {
  const auto with = static_cast<std::size_t>(
      std::count_if(buckets.begin(), buckets.end(), [](const Bucket& b) { return b.has_steps(); }));
  if (with == 0) return {};
  std::array<std::int64_t, 2 * kLowerBuckets> steps;
  TRY(take_column(bytes, std::span(steps).first(2 * with)));
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
    TRY(take_values(bytes, buckets));
    TRY(take_times(bytes, buckets));
    TRY(take_steps(bytes, buckets));
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
Result<Levels> levels_of(std::span<const std::uint8_t> bytes) {
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
  const Levels levels = TRY(levels_of(bytes));
  PyramidRow row;
  row.lower = TRY(decode_level(levels.lower.bytes, levels.lower.buckets));
  row.upper = TRY(decode_level(levels.upper.bytes, levels.upper.buckets));
  return row;
}
Result<std::vector<Bucket>> decode_lower(std::span<const std::uint8_t> bytes) {
  const Levels levels = TRY(levels_of(bytes));
  return decode_level(levels.lower.bytes, levels.lower.buckets);
}
Result<std::vector<Bucket>> decode_upper(std::span<const std::uint8_t> bytes) {
  const Levels levels = TRY(levels_of(bytes));
  return decode_level(levels.upper.bytes, levels.upper.buckets);
}

}  // namespace corral::codec
