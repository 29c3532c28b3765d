// The pyramid: a summary of 256, 1,024, 4,096 ... consecutive points of a series, readable without
// decoding them (docs/format-block.md).
//
// Level k has buckets of 256 * 4^k points of the series' blocks, in the blocks' order. Two levels
// share a row: the row `no` of tier t holds the buckets [256 no, 256 no + 256) of level 2t and the
// buckets [64 no, 64 no + 64) of level 2t + 1 that are complete. Sixteen rows of a tier make one of
// the next. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace corral::codec {

inline constexpr std::uint32_t kBucketPoints = 256;  // points of a bucket of level 0
inline constexpr std::uint32_t kFanOut = 4;
inline constexpr std::size_t kLowerBuckets = 256;  // buckets of a full row
inline constexpr std::size_t kUpperBuckets = 64;
// Tiers 0 to 5, levels 0 to 11: a bucket has at most 2^30 points.
inline constexpr int kPyramidTiers = 6;
inline constexpr std::uint32_t kMostBucketPoints = kBucketPoints << 22;

struct Bucket {
  // Over finite values; 0 when there is none (count == not_finite()). A minimum or maximum of zero
  // has the sign of the earliest zero. The sum is infinite or NaN where it leaves the doubles.
  double min = 0, max = 0, first = 0, last = 0, sum = 0;
  // Positions within the bucket of the earliest minimum and maximum, and of first and last.
  std::uint32_t min_at = 0, max_at = 0, first_at = 0, last_at = 0;
  std::int64_t t0 = 0, t1 = 0;  // least and greatest time, ns UTC
  // Least and greatest step; s0 > s1: no point has one.
  std::int64_t s0 = std::numeric_limits<std::int64_t>::max();
  std::int64_t s1 = std::numeric_limits<std::int64_t>::min();
  std::uint32_t count = 0;  // all points
  std::uint32_t nan = 0, positive_infinity = 0, negative_infinity = 0;
  // Steps never go down inside the bucket (true as well when there are none).
  bool steps_ascend = true;

  [[nodiscard]] std::uint32_t not_finite() const {
    return nan + positive_infinity + negative_infinity;
  }
  [[nodiscard]] bool has_steps() const { return s0 <= s1; }
  bool operator==(const Bucket&) const = default;
};

// Makes a bucket of points in their order (ascending times); `steps` is empty if they have none. At
// most kMostBucketPoints. The sum is of eight partial sums (of every eighth value), on every
// machine the same.
Bucket make_bucket(std::span<const std::int64_t> times, std::span<const std::int64_t> steps,
                   std::span<const double> values);
// Joins consecutive buckets in order; at most kMostBucketPoints points in all. The result equals
// make_bucket of all the points, except for the rounding of the sum. If only some parts have steps
// they do not ascend.
Bucket join_buckets(std::span<const Bucket> parts);

struct PyramidRow {
  std::vector<Bucket> lower, upper;
  bool operator==(const PyramidRow&) const = default;
};
// Adds buckets at the lower end and completes the upper ones. At most kLowerBuckets in all.
void extend_row(PyramidRow& row, std::span<const Bucket> lower);

// Encodes buckets made by make_bucket and join_buckets.
std::string encode_pyramid_row(const PyramidRow& row);
// kCorruption, kUnsupported: a newer version. The result is sound in itself, for any bytes:
// positions lie in their buckets, ranges do not end before they begin, values are finite.
Result<PyramidRow> decode_pyramid_row(std::span<const std::uint8_t> bytes);
// One of its two levels alone.
Result<std::vector<Bucket>> decode_lower(std::span<const std::uint8_t> bytes);
Result<std::vector<Bucket>> decode_upper(std::span<const std::uint8_t> bytes);

}  // namespace corral::codec
