#include "analyze/equivalence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace corral::analyze {
namespace {

// The expected values are SciPy's: exp(mean -+ t.ppf(0.95, n - 1) * std(ddof=1) / sqrt(n)).
const std::vector<double> kSix = {0.012, -0.004, 0.007, 0.021, 0.003, 0.009};

RatioInterval interval(double low, double high) {
  return {
      .mean = std::sqrt(low * high), .low = low, .high = high, .log_deviation = 0.01, .pairs = 10};
}

TEST(Equivalence, IntervalOfTheGeometricMean) {
  const RatioInterval six = ratio_interval(kSix, 0.9);
  EXPECT_NEAR(six.mean, 1.0080320855042735, 1e-13);
  EXPECT_NEAR(six.low, 1.0010591160932372, 1e-11);
  EXPECT_NEAR(six.high, 1.0150536257755371, 1e-11);
  EXPECT_NEAR(six.log_deviation, 0.008438009243891594, 1e-15);
  EXPECT_EQ(six.pairs, 6u);
  EXPECT_TRUE(std::isnan(ratio_interval({}, 0.9).mean));
  const std::vector<double> one = {0.5};
  EXPECT_DOUBLE_EQ(ratio_interval(one, 0.9).mean, std::exp(0.5));
  EXPECT_TRUE(std::isnan(ratio_interval(one, 0.9).high));
  EXPECT_EQ(judge(ratio_interval(one, 0.9), 0.01), Equivalence::kUndecided);
}

TEST(Equivalence, BootstrapAgreesWithStudentAndWithItself) {
  std::vector<double> many;
  for (int i = 0; i < 200; ++i) many.push_back(0.01 + 0.02 * std::sin(i * 1.7));
  const RatioInterval t = ratio_interval(many, 0.9);
  const RatioInterval b = bootstrap_interval(many, {.seed = 7});
  EXPECT_DOUBLE_EQ(b.mean, t.mean);
  EXPECT_NEAR(b.low, t.low, 0.1 * (t.high - t.low));
  EXPECT_NEAR(b.high, t.high, 0.1 * (t.high - t.low));
  EXPECT_EQ(b.low, bootstrap_interval(many, {.seed = 7}).low);
  EXPECT_NE(b.low, bootstrap_interval(many, {.seed = 8}).low);
  // No resampled mean lies outside the values.
  const RatioInterval few = bootstrap_interval(kSix, {.confidence = 0.999});
  EXPECT_GE(few.low, std::exp(-0.004));
  EXPECT_LE(few.high, std::exp(0.021));
}

TEST(Equivalence, AVerdictNeedsTheWholeInterval) {
  EXPECT_EQ(judge(interval(0.995, 1.009), 0.01), Equivalence::kWithin);
  EXPECT_EQ(judge(interval(0.990, 1.010), 0.01), Equivalence::kWithin);
  EXPECT_EQ(judge(interval(0.995, 1.0101), 0.01), Equivalence::kUndecided);
  EXPECT_EQ(judge(interval(0.98, 1.005), 0.01), Equivalence::kUndecided);
  EXPECT_EQ(judge(interval(0.9, 1.1), 0.01), Equivalence::kUndecided);
  EXPECT_EQ(judge(interval(1.04, 1.06), 0.01), Equivalence::kNotWithin);
  EXPECT_EQ(judge(interval(0.90, 0.95), 0.01), Equivalence::kNotWithin);
  EXPECT_EQ(judge(interval(1.04, 1.06), 0.10), Equivalence::kWithin);
}

TEST(Equivalence, PairsToDecide) {
  // If n pairs are said to do, the interval of n pairs reaches the border, that of fewer does
  // not.
  const RatioInterval six = ratio_interval(kSix, 0.9);
  const auto wanted = pairs_to_decide(six, 0.01, 0.9);
  ASSERT_TRUE(wanted);
  EXPECT_GT(*wanted, 6u);
  std::vector<double> repeated;
  while (repeated.size() < *wanted) repeated.insert(repeated.end(), kSix.begin(), kSix.end());
  EXPECT_NE(judge(ratio_interval(repeated, 0.9), 0.01), Equivalence::kUndecided);
  EXPECT_EQ(judge(six, 0.01), Equivalence::kUndecided);

  EXPECT_EQ(pairs_to_decide(interval(0.999, 1.001), 0.05, 0.9), 10u);  // enough already
  RatioInterval border = interval(1.01, 1.01);
  border.mean = 1.01;
  EXPECT_FALSE(pairs_to_decide(border, 0.01, 0.9));
  EXPECT_FALSE(pairs_to_decide(ratio_interval({}, 0.9), 0.01, 0.9));
}

}  // namespace
}  // namespace corral::analyze
