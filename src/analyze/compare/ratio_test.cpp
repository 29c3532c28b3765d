#include "analyze/compare/ratio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "analyze/split_mix.h"
#include "analyze/student_t.h"

namespace corral::analyze {
namespace {

// The expected values are SciPy's: exp(mean -+ t.ppf(0.95, n - 1) * std(ddof=1) / sqrt(n)).
const std::vector<double> kSix = {0.012, -0.004, 0.007, 0.021, 0.003, 0.009};

RatioInterval interval(double low, double high) {
  return {
      .mean = std::sqrt(low * high), .low = low, .high = high, .log_deviation = 0.01, .pairs = 10};
}

std::vector<double> logs(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
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
  EXPECT_EQ(judge(interval(1 / 1.01, 1.01), 0.01), Equivalence::kWithin);
  EXPECT_EQ(judge(interval(0.990, 1.01), 0.01), Equivalence::kUndecided);
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

// SciPy's ttest_ind(equal_var=False) on the logarithms, with its confidence_interval.
TEST(Ratio, GroupsAreComparedByWelchsT) {
  const std::vector<double> a = logs({10.1, 10.4, 9.9, 10.2, 10.3}), b = logs({12.9, 13.4, 13.1});
  const LogRatio ratio = log_ratio_of_groups(a, b);
  EXPECT_NEAR(ratio.log, 0.2547498956450194, 1e-13);
  EXPECT_NEAR(ratio.error, 0.013924317046307646, 1e-13);
  EXPECT_NEAR(ratio.degrees, 4.305411275268903, 1e-9);
  const RatioInterval most = interval_of(ratio, 0.95);
  EXPECT_NEAR(most.low, 1.2425276073799338, 1e-11);
  EXPECT_NEAR(most.high, 1.3395745898924618, 1e-11);
  const RatioTests tests = test_ratio(ratio, 0.35);
  EXPECT_NEAR(tests.different, 3.0187422246617446e-05, 1e-11);
  EXPECT_NEAR(tests.equivalent, 0.013996371617661122, 1e-11);
  // The other way round it is the reciprocal.
  const RatioInterval back = interval_of(log_ratio_of_groups(b, a), 0.95);
  EXPECT_NEAR(back.mean * most.mean, 1, 1e-12);
  EXPECT_NEAR(back.low * most.high, 1, 1e-12);
}

TEST(Ratio, TooFewValuesHaveNoInterval) {
  const LogRatio one = log_ratio_of_groups(logs({10.0}), logs({11, 12, 13}));
  EXPECT_NEAR(std::exp(one.log), std::cbrt(11.0 * 12 * 13) / 10, 1e-12);
  EXPECT_TRUE(std::isnan(interval_of(one, 0.95).low));
  EXPECT_EQ(test_ratio(one, 0.02).different, 1);
  EXPECT_EQ(judge_ratio(one, test_ratio(one, 0.02)), RatioVerdict::kTooFew);
  EXPECT_FALSE(values_for_width(one, 0.02, 0.95));
  const LogRatio none = log_ratio_of_groups({}, logs({11, 12}));
  EXPECT_TRUE(std::isnan(none.log));
  EXPECT_EQ(judge_ratio(none, test_ratio(none, 0.02)), RatioVerdict::kTooFew);
}

TEST(Ratio, EqualValuesAreEquivalentAndOthersDiffer) {
  const LogRatio same = log_ratio_of_groups(logs({2, 2, 2}), logs({2, 2}));
  EXPECT_EQ(judge_ratio(same, test_ratio(same, 0.02)), RatioVerdict::kEquivalent);
  const LogRatio other = log_ratio_of_groups(logs({2, 2, 2}), logs({3, 3}));
  EXPECT_EQ(judge_ratio(other, test_ratio(other, 0.02)), RatioVerdict::kGreater);
  EXPECT_EQ(interval_of(other, 0.95).low, interval_of(other, 0.95).high);
}

TEST(Ratio, VerdictsFollowFromTheTwoTests) {
  const LogRatio less{.log = -0.1, .error = 0.01, .degrees = 8, .a = 5, .b = 5};
  const auto verdict = [&](double different, double equivalent) {
    return judge_ratio(less, {.different = different, .equivalent = equivalent});
  };
  EXPECT_EQ(verdict(0.049, 0.9), RatioVerdict::kLess);
  EXPECT_EQ(verdict(0.05, 0.9), RatioVerdict::kInconclusive);
  EXPECT_EQ(verdict(0.2, 0.04), RatioVerdict::kEquivalent);
  EXPECT_EQ(verdict(0.01, 0.04), RatioVerdict::kWithinMargin);
  LogRatio greater = less;
  greater.log = 0.1;
  EXPECT_EQ(judge_ratio(greater, {.different = 0.01, .equivalent = 1}), RatioVerdict::kGreater);
}

// Worked by hand: the sorted p-values .01 .02 .03 .5 .6 .9 of three ratios are multiplied by
// 3 3 3 3 2 1, each at least the one before.
TEST(Ratio, AFamilyIsAdjustedStepByStep) {
  const std::vector<RatioTests> family = {{.different = 0.02, .equivalent = 0.9},
                                          {.different = 0.5, .equivalent = 0.01},
                                          {.different = 0.6, .equivalent = 0.03}};
  const std::vector<RatioTests> out = adjust_family(family);
  EXPECT_DOUBLE_EQ(out[1].equivalent, 0.03);
  EXPECT_DOUBLE_EQ(out[0].different, 0.06);
  EXPECT_DOUBLE_EQ(out[2].equivalent, 0.09);
  EXPECT_DOUBLE_EQ(out[1].different, 1);
  EXPECT_DOUBLE_EQ(out[2].different, 1);
  EXPECT_DOUBLE_EQ(out[0].equivalent, 1);
  const std::vector<RatioTests> alone = adjust_family(std::vector{family[0]});
  EXPECT_DOUBLE_EQ(alone[0].different, 0.02);
  EXPECT_DOUBLE_EQ(alone[0].equivalent, 0.9);
  EXPECT_TRUE(adjust_family({}).empty());
}

// With that many values the interval is narrow enough, with one less it is too wide.
TEST(Ratio, ValuesForAWidth) {
  const LogRatio ratio = log_ratio_of_groups(logs({10, 10.8, 9.6}), logs({12, 12.9, 13.1}));
  const auto wanted = values_for_width(ratio, 0.02, 0.95);
  ASSERT_TRUE(wanted);
  const auto half = [&](std::size_t n) {
    return student_t_quantile(0.975, 2.0 * static_cast<double>(n) - 2) * ratio.deviation /
           std::sqrt(static_cast<double>(n));
  };
  EXPECT_LE(half(*wanted), std::log(1.02));
  EXPECT_GT(half(*wanted - 1), std::log(1.02));
  EXPECT_EQ(values_for_width(ratio, 0.9, 0.95), 3u);
}

// A constant side has the degrees of freedom of pairs, and is none.
TEST(Ratio, ValuesForAWidthBesideAConstantSide) {
  const LogRatio constant = log_ratio_of_groups(logs({10, 10.8, 9.6}), logs({12, 12, 12}));
  const LogRatio nearly = log_ratio_of_groups(logs({10, 10.8, 9.6}), logs({12, 12, 12.0001}));
  ASSERT_DOUBLE_EQ(constant.degrees, 2);
  for (const double margin : {0.1, 0.05, 0.02})
    EXPECT_EQ(values_for_width(constant, margin, 0.95), values_for_width(nearly, margin, 0.95));
}

// Two uniform numbers make a normal one (Box and Muller).
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : random_(seed) {}
  double uniform() { return (static_cast<double>(random_.next() >> 11) + 0.5) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  SplitMix random_;
};

struct Shape {
  const char* name;
  std::function<double(Numbers&)> draw;  // a positive value
};

// Share of `trials` pairs of groups of n values in which the interval of 95 % holds the true ratio.
double coverage(const Shape& shape, std::size_t n, unsigned trials) {
  constexpr double kTrue = 1.3;
  Numbers numbers(n);
  unsigned held = 0;
  std::vector<double> a(n), b(n);
  for (unsigned i = 0; i < trials; ++i) {
    for (double& value : a) value = std::log(shape.draw(numbers));
    for (double& value : b) value = std::log(kTrue * shape.draw(numbers));
    const RatioInterval interval = interval_of(log_ratio_of_groups(a, b), 0.95);
    held += interval.low <= kTrue && kTrue <= interval.high ? 1 : 0;
  }
  return held / static_cast<double>(trials);
}

TEST(Ratio, IntervalsHoldTheTruthAsOftenAsTheySay) {
  const std::vector<Shape> shapes = {
      {"normal", [](Numbers& n) { return 1 + 0.05 * n.normal(); }},
      {"lognormal", [](Numbers& n) { return std::exp(0.2 * n.normal()); }},
      {"exponential", [](Numbers& n) { return -std::log(n.uniform()); }}};
  for (const Shape& shape : shapes)
    for (const std::size_t n : {3U, 5U, 10U}) {
      const double held = coverage(shape, n, 20'000);
      EXPECT_GE(held, 0.93) << shape.name << ' ' << n;
      EXPECT_LE(held, 0.985) << shape.name << ' ' << n;
    }
}

// A family of 20 ratios that are all 1: a false verdict in one of them or more is as rare as for
// one alone, and so where all lie on a bound of the margin.
TEST(Ratio, AFamilyMakesFewFalseVerdicts) {
  for (const double truth : {1.0, 1.02}) {
    Numbers numbers(7);
    unsigned wrong = 0;
    constexpr unsigned kTrials = 500;
    for (unsigned trial = 0; trial < kTrials; ++trial) {
      std::vector<RatioTests> family;
      for (int i = 0; i < 20; ++i) {
        std::vector<double> a(5), b(5);
        for (double& value : a) value = 0.01 * numbers.normal();
        for (double& value : b) value = std::log(truth) + 0.01 * numbers.normal();
        family.push_back(test_ratio(log_ratio_of_groups(a, b), 0.02));
      }
      const std::vector<RatioTests> adjusted = adjust_family(family);
      wrong += std::ranges::any_of(adjusted, [&](const RatioTests& tests) {
        return (truth == 1 ? tests.different : tests.equivalent) < 0.05;
      });
    }
    EXPECT_LE(wrong, 0.08 * kTrials) << truth;
  }
}

}  // namespace
}  // namespace corral::analyze
