#include "analyze/compare/baseline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace corral::analyze {
namespace {

std::vector<UnitValue> units_of(const std::vector<double>& values) {
  std::vector<UnitValue> units;
  for (const double value : values) {
    units.emplace_back();
    units.back().value = value;
    units.back().unit = "s/step";
  }
  return units;
}

// exp(mean -+ t.ppf(0.975, n - 1) * std(ddof=1) * sqrt(1 + 1 / n)) of SciPy and NumPy.
TEST(Baseline, ARangeHoldsOneFurtherRun) {
  const BaselineValue baseline = judge_baseline(units_of({10.1, 10.4, 9.9, 10.2, 10.3}));
  EXPECT_EQ(baseline.counted, 5U);
  EXPECT_NEAR(baseline.mean.value_or(0), 10.17853937, 1e-7);
  EXPECT_NEAR(baseline.low, 9.60811092, 1e-7);
  EXPECT_NEAR(baseline.high, 10.78283386, 1e-7);
  EXPECT_FALSE(judge_against(baseline, units_of({10.7}).front()).outside);
  const FromBaseline far = judge_against(baseline, units_of({10.8}).front());
  EXPECT_TRUE(far.outside);
  EXPECT_NEAR(far.ratio.value_or(0), 10.8 / 10.17853937, 1e-7);
}

TEST(Baseline, OneRunOrRunsBesideOthersHaveNoRange) {
  const BaselineValue one = judge_baseline(units_of({10}));
  EXPECT_EQ(one.mean, 10);
  EXPECT_TRUE(std::isnan(one.low));
  EXPECT_FALSE(judge_against(one, units_of({1000}).front()).outside);
  std::vector<UnitValue> beside = units_of({10, 11, 12});
  beside[1].beside = 1;
  EXPECT_TRUE(std::isnan(judge_baseline(beside).low));
}

TEST(Baseline, ReasonsAreKept) {
  std::vector<UnitValue> none = units_of({10});
  none.front().value.reset();
  none.front().reason = "it ended as failed";
  const BaselineValue baseline = judge_baseline(none);
  EXPECT_FALSE(baseline.mean);
  EXPECT_EQ(judge_against(baseline, units_of({10}).front()).reason,
            "the baseline has none: it ended as failed");
  EXPECT_EQ(judge_against(judge_baseline(units_of({10})), none.front()).reason,
            "it ended as failed");
  UnitValue epochs = units_of({10}).front();
  epochs.unit = "s/epoch";
  EXPECT_EQ(judge_against(judge_baseline(units_of({10})), epochs).reason,
            "its value is in s/epoch, others are in s/step");
}

}  // namespace
}  // namespace corral::analyze
