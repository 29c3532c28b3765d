#include "codec/block/pyramid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "codec/block/test_pyramids.h"

namespace corral::codec {
namespace {

using testing::any_points;
using testing::Points;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

Bucket of(std::vector<double> values, std::vector<std::int64_t> steps = {}) {
  Points points{.times = {}, .steps = std::move(steps), .values = std::move(values)};
  for (std::size_t i = 0; i < points.values.size(); ++i)
    points.times.push_back(static_cast<std::int64_t>(i) * 10);
  return testing::bucket_of(points);
}

// Finite values with their positions.
struct Finite {
  std::vector<double> values;
  std::vector<std::uint32_t> at;
};
Finite finite_of(const std::vector<double>& values) {
  Finite all;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    all.values.push_back(values[i]);
    all.at.push_back(i);
  }
  return all;
}
bool near(double a, double b, double magnitude) {
  return std::abs(a - b) <= 1e-12 * magnitude || (!std::isfinite(a) && !std::isfinite(b));
}
double magnitude_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::abs(value);
  return sum;
}

void expect_values(const Bucket& bucket, const std::vector<double>& values) {
  const Finite finite = finite_of(values);
  RC_ASSERT(bucket.not_finite() == values.size() - finite.values.size());
  RC_ASSERT(bucket.nan == std::count_if(values.begin(), values.end(),
                                        [](double value) { return std::isnan(value); }));
  RC_ASSERT(bucket.positive_infinity == std::count(values.begin(), values.end(), kInfinity));
  if (finite.values.empty()) {
    RC_ASSERT(bucket.sum == 0 && bucket.min == 0 && bucket.max == 0 && bucket.first == 0);
    RC_ASSERT(bucket.min_at == 0u && bucket.max_at == 0u && bucket.last_at == 0u);
    return;
  }
  const auto least = std::min_element(finite.values.begin(), finite.values.end());
  const auto most = std::max_element(finite.values.begin(), finite.values.end());
  RC_ASSERT(bucket.min_at == finite.at[static_cast<std::size_t>(least - finite.values.begin())]);
  RC_ASSERT(bucket.max_at == finite.at[static_cast<std::size_t>(most - finite.values.begin())]);
  RC_ASSERT(bucket.first_at == finite.at.front());
  RC_ASSERT(bucket.last_at == finite.at.back());
  RC_ASSERT(testing::same_bits(bucket.min, *least));
  RC_ASSERT(testing::same_bits(bucket.max, *most));
  RC_ASSERT(testing::same_bits(bucket.first, finite.values.front()));
  RC_ASSERT(testing::same_bits(bucket.last, finite.values.back()));
  double sum = 0;
  for (const double value : finite.values) sum += value;
  RC_ASSERT(near(bucket.sum, sum, magnitude_of(finite.values)));
}

TEST(Pyramid, NoPointsAreAnEmptyBucket) {
  EXPECT_EQ(make_bucket({}, {}, {}), Bucket{});
  EXPECT_FALSE(Bucket{}.has_steps());
}

TEST(Pyramid, AllFiniteValuesInWholeLanes) {
  std::vector<double> values(256, 5.0);
  values[17] = values[200] = 1.0;
  values[99] = values[100] = 9.0;
  const Bucket bucket = of(values);
  EXPECT_EQ(bucket.min_at, 17u);
  EXPECT_EQ(bucket.max_at, 99u);
  EXPECT_EQ(bucket.last_at, 255u);
  EXPECT_EQ(bucket.sum, 256 * 5.0);
  EXPECT_EQ(bucket.t1, 2550);
}

TEST(Pyramid, TheEarlierOfTheTwoZerosIsTheMinimum) {
  EXPECT_FALSE(std::signbit(of({0.0, -0.0}).min));
  const Bucket bucket = of({-0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0});
  EXPECT_TRUE(std::signbit(bucket.min));
  EXPECT_TRUE(std::signbit(bucket.max));
  EXPECT_EQ(bucket.max_at, 0u);
}

TEST(Pyramid, ASumBeyondTheLargestNumberLeavesTheRest) {
  const Bucket bucket = of({1e308, 1e308, -1.0, 1e308});
  EXPECT_EQ(bucket.sum, kInfinity);
  EXPECT_EQ(bucket.not_finite(), 0u);
  EXPECT_EQ(bucket.min, -1.0);
  EXPECT_EQ(bucket.min_at, 2u);
  EXPECT_EQ(bucket.max_at, 0u);
}

TEST(Pyramid, NothingFiniteIsZeros) {
  const Bucket bucket = of({kNan, kInfinity, -kInfinity, -kInfinity});
  EXPECT_EQ(bucket.nan, 1u);
  EXPECT_EQ(bucket.positive_infinity, 1u);
  EXPECT_EQ(bucket.negative_infinity, 2u);
  EXPECT_EQ(bucket.count, bucket.not_finite());
  EXPECT_EQ(bucket.min, 0.0);
  EXPECT_EQ(bucket.last, 0.0);
}

TEST(Pyramid, StepsThatFallAreSeen) {
  const Bucket falls = of({1, 2, 3, 4}, {5, 9, -2, 7});
  EXPECT_FALSE(falls.steps_ascend);
  EXPECT_EQ(falls.s0, -2);
  EXPECT_EQ(falls.s1, 9);
  EXPECT_TRUE(of({1, 2, 3}, {4, 4, 5}).steps_ascend);
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(of({1, 2}, {kMost, kLeast}).steps_ascend);
  EXPECT_TRUE(of({1, 2}, {kLeast, kMost}).steps_ascend);
}

RC_GTEST_PROP(Pyramid, ABucketIsWhatALoopFinds, ()) {
  const Points points = any_points(*rc::gen::inRange(1, 300));
  const Bucket bucket = testing::bucket_of(points);
  RC_ASSERT(bucket.count == points.values.size());
  RC_ASSERT(bucket.t0 == points.times.front());
  RC_ASSERT(bucket.t1 == points.times.back());
  expect_values(bucket, points.values);
  RC_ASSERT(bucket.has_steps() == !points.steps.empty());
  if (points.steps.empty()) {
    RC_ASSERT(bucket.steps_ascend);
    return;
  }
  RC_ASSERT(bucket.s0 == *std::min_element(points.steps.begin(), points.steps.end()));
  RC_ASSERT(bucket.s1 == *std::max_element(points.steps.begin(), points.steps.end()));
  RC_ASSERT(bucket.steps_ascend == std::is_sorted(points.steps.begin(), points.steps.end()));
}

RC_GTEST_PROP(Pyramid, JoinedBucketsAreTheBucketOfAllTheirPoints, ()) {
  const Points points = any_points(*rc::gen::inRange(1, 200));
  const Bucket whole = testing::bucket_of(points);
  std::vector<Bucket> parts;
  for (std::size_t at = 0; at < points.values.size();) {
    const std::size_t size = *rc::gen::inRange<std::size_t>(1, points.values.size() - at + 1);
    if (*rc::gen::arbitrary<bool>()) parts.emplace_back();  // a part without points
    parts.push_back(testing::bucket_of(testing::part_of(points, at, size)));
    at += size;
  }
  Bucket joined = join_buckets(parts);
  const Finite finite = finite_of(points.values);
  RC_ASSERT(near(joined.sum, whole.sum, magnitude_of(finite.values)));
  joined.sum = whole.sum;
  RC_ASSERT(testing::same_bits(joined, whole));
}

TEST(Pyramid, PartsWithAndWithoutStepsDoNotAscend) {
  const std::vector<Bucket> with_first{of({1, 2}, {1, 2}), of({3}), of({4}, {5})};
  const Bucket joined = join_buckets(with_first);
  EXPECT_FALSE(joined.steps_ascend);
  EXPECT_EQ(joined.s0, 1);
  EXPECT_EQ(joined.s1, 5);
  EXPECT_FALSE(join_buckets(std::vector<Bucket>{of({3}), of({4}, {5})}).steps_ascend);
  EXPECT_TRUE(join_buckets(std::vector<Bucket>{of({3}), of({4})}).steps_ascend);
}

TEST(Pyramid, PartsWhoseStepsGoBackDoNotAscend) {
  EXPECT_FALSE(join_buckets(std::vector<Bucket>{of({1}, {7}), of({1}, {6})}).steps_ascend);
  EXPECT_TRUE(join_buckets(std::vector<Bucket>{of({1}, {7}), of({1}, {7})}).steps_ascend);
}

TEST(Pyramid, ARowCompletesItsUpperBucketsAsTheyFill) {
  std::vector<Bucket> lower;
  for (int i = 0; i < 256; ++i) lower.push_back(of({i * 1.0, i + 0.5}));
  PyramidRow row;
  extend_row(row, std::span(lower).first(3));
  EXPECT_TRUE(row.upper.empty());
  extend_row(row, std::span(lower).subspan(3, 6));
  ASSERT_EQ(row.upper.size(), 2u);
  EXPECT_EQ(row.upper[1], join_buckets(std::span(lower).subspan(4, 4)));
  extend_row(row, std::span(lower).subspan(9));
  ASSERT_EQ(row.upper.size(), kUpperBuckets);
  EXPECT_EQ(row.upper[63].last, 255.5);
  EXPECT_EQ(row.upper[63].count, 8u);
  PyramidRow at_once;
  extend_row(at_once, lower);
  EXPECT_EQ(row, at_once);
}

}  // namespace
}  // namespace corral::codec
