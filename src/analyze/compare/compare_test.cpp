#include "analyze/compare/compare.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metric/catalogue.h"

namespace corral::analyze {
namespace {

UnitValue unit_of(double value, double wait = 0) {
  UnitValue unit;
  unit.value = value;
  unit.unit = "s/step";
  unit.runs.push_back({.id = RunId::random(), .name = "run", .host = "node7"});
  if (wait > 0)
    unit.parts = {{.name = "forward and rest", .type = "step", .seconds = value - wait},
                  {.name = "data wait", .type = "data wait", .seconds = wait}};
  return unit;
}

ComparedGroup group_of(std::string name, const std::vector<double>& values, double wait = 0) {
  ComparedGroup group;
  group.name = std::move(name);
  for (const double value : values) group.units.push_back(unit_of(value, wait));
  return group;
}

const std::vector<double> kTen = {10.1, 10.4, 9.9, 10.2, 10.3};

TEST(Compare, SaysHowManyTimesAndWhere) {
  const Comparison all =
      judge_groups({group_of("mps", kTen, 1), group_of("slices", {12.9, 13.4, 13.1}, 3.8)}, {});
  ASSERT_EQ(all.differences.size(), 1U);
  const GroupDifference& found = all.differences.front();
  EXPECT_EQ(found.verdict, RatioVerdict::kGreater);
  EXPECT_EQ(found.text,
            "slices is 1.29 × slower than mps (95 %: 1.24 to 1.34, n = 5 and 3). "
            "Of +2.95 s per step, +2.8 s are data wait.");
  ASSERT_EQ(found.parts.size(), 2U);
  EXPECT_EQ(found.parts[0].name, "data wait");
  EXPECT_NEAR(found.parts[0].difference(), 2.8, 1e-9);
  EXPECT_EQ(all.groups[0].counted, 5U);
  EXPECT_NEAR(
      *all.groups[0].mean,
      std::exp((std::log(10.1) + std::log(10.4) + std::log(9.9) + std::log(10.2) + std::log(10.3)) /
               5),
      1e-12);
  EXPECT_EQ(*all.groups[0].least, 9.9);
  EXPECT_FALSE(all.planned);
}

TEST(Compare, TheOtherWayRoundIsFasterByTheSameFactor) {
  const Comparison all = judge_groups({group_of("b", {12.9, 13.4, 13.1}), group_of("a", kTen)}, {});
  EXPECT_EQ(all.differences.front().verdict, RatioVerdict::kLess);
  EXPECT_EQ(all.differences.front().text,
            "a is 1.29 × faster than b (95 %: 1.24 to 1.34, n = 3 and 5).");
}

TEST(Compare, EqualGroupsAreEquivalentAndNoisyOnesInconclusive) {
  const Comparison same = judge_groups(
      {group_of("a", {10, 10.01, 9.99, 10.02}), group_of("b", {10.01, 10, 10, 9.99})}, {});
  EXPECT_EQ(same.differences.front().text,
            "a and b are equivalent within 2 % (90 %: 0.998 to 1.001, n = 4 and 4).");
  const Comparison noisy =
      judge_groups({group_of("a", {10, 12, 8.5}), group_of("b", {10, 8, 13})}, {});
  EXPECT_EQ(noisy.differences.front().verdict, RatioVerdict::kInconclusive);
  ASSERT_TRUE(noisy.differences.front().more);
  EXPECT_GT(*noisy.differences.front().more, 100U);
  EXPECT_NE(noisy.differences.front().text.find("more on each side would make the interval ±2 %"),
            std::string::npos)
      << noisy.differences.front().text;
}

TEST(Compare, OneRunSaysNothingOfChance) {
  const Comparison all = judge_groups({group_of("a", {10}), group_of("b", {20, 21})}, {});
  EXPECT_EQ(all.differences.front().verdict, RatioVerdict::kTooFew);
  EXPECT_EQ(all.differences.front().text,
            "b is 2.05 × slower than a (n = 1 and 2), but one value on a side says nothing about "
            "chance.");
}

TEST(Compare, WhatDoesNotCountIsCountedAndSaid) {
  ComparedGroup a = group_of("a", kTen);
  a.units[1].value.reset();
  a.units[1].reason = "it ended as failed";
  a.units[2].runs.front().host = "node8";
  a.units[3].runs.front().unsteady = "the length of its steps changed until near its end";
  ComparedGroup b = group_of("b", {11, 11.2});
  const Comparison all = judge_groups({a, b}, {});
  EXPECT_EQ(all.groups[0].warnings,
            (std::vector<std::string>{"1 of 5 do not count: it ended as failed.",
                                      "Its runs were on 2 hosts: node7, node8.",
                                      "1 of 4 had no steady part: all of their time counts."}));
  EXPECT_EQ(all.groups[1].warnings,
            std::vector<std::string>{"Two values make a very uncertain interval."});
  EXPECT_EQ(all.differences.front().warnings,
            std::vector<std::string>{"The two did not run on the same hosts."});
  ComparedGroup none = group_of("none", {10});
  none.units[0].value.reset();
  EXPECT_EQ(judge_groups({b, none}, {}).differences.front().text,
            "b and none cannot be compared: none has no value that counts.");
}

TEST(Compare, MetricsDifferWhereNoUnitsOfTheTwoOverlap) {
  ComparedGroup a = group_of("a", {10, 10.1, 10, 10.1}), b = group_of("b", {12, 12.1, 12, 12.1});
  const auto set = [](UnitValue& unit, double busy, double power) {
    unit.means = RunData({{.metric = "host.cpu.busy", .source = "", .unit = "", .mean = busy},
                          {.metric = "host.gpu.power", .source = "gpu0", .unit = "", .mean = power},
                          {.metric = "loss", .source = "", .unit = "", .mean = power}});
  };
  for (std::size_t i = 0; i < 4; ++i) {
    set(a.units[i], 1 + static_cast<double>(i), i % 2 == 0 ? 100 : 102);
    set(b.units[i], 2 + static_cast<double>(i), i % 2 == 0 ? 200 : 202);
  }
  EXPECT_TRUE(judge_groups({group_of("few", {10, 10}), b}, {}).differences.front().means.empty());
  const auto means = judge_groups({a, b}, {}).differences.front().means;
  ASSERT_EQ(means.size(), 1U) << "busy CPUs overlap, and a loss is no resource";
  EXPECT_EQ(means[0].metric, "host.gpu.power");
  EXPECT_EQ(means[0].source, "gpu0");
  EXPECT_DOUBLE_EQ(means[0].a, 101);
  EXPECT_DOUBLE_EQ(means[0].b, 201);
}

TEST(Compare, EachMetricBesideTheValueIsOneThatIsRecorded) {
  for (const std::string_view metric : compared_metrics())
    EXPECT_NE(metric::find_metric(metric), nullptr) << metric;
}

TEST(Compare, RareStallsAreNamed) {
  ComparedGroup a = group_of("a", kTen);
  a.units[2].stall = 12.5;
  EXPECT_EQ(judge_groups({a, group_of("b", kTen)}, {}).groups[0].warnings,
            std::vector<std::string>{
                "Its longest step took 12.5 × the median one: intervals assume no rare stalls."});
}

TEST(Compare, ValuesOfAnotherUnitDoNotCount) {
  ComparedGroup a = group_of("a", {10, 10.1, 10.2}), b = group_of("b", {300, 301});
  a.units[2].unit = "s/epoch";
  for (UnitValue& unit : b.units) unit.unit = "s/epoch";
  const Comparison all = judge_groups({a, b}, {});
  EXPECT_EQ(all.groups[0].counted, 2U);
  EXPECT_EQ(all.groups[1].counted, 0U);
  EXPECT_EQ(all.groups[1].warnings.front(),
            "2 of 2 do not count: its value is in s/epoch, others are in s/step.");
  EXPECT_EQ(all.differences.front().verdict, RatioVerdict::kTooFew);
  EXPECT_EQ(judge_groups({b, b}, {}).value, "time per epoch");
}

TEST(Compare, EqualConstantsAreEquivalentWhateverTheirNumber) {
  for (std::size_t n = 2; n < 40; ++n) {
    const ComparedGroup a = group_of("a", {0.1, 0.1});
    const ComparedGroup b = group_of("b", std::vector<double>(n, 0.1));
    EXPECT_EQ(judge_groups({a, b}, {}).differences.front().verdict, RatioVerdict::kEquivalent) << n;
    const ComparedGroup c = group_of("c", std::vector<double>(n, 0.1000000001));
    EXPECT_EQ(judge_groups({c, b}, {}).differences.front().verdict, RatioVerdict::kWithinMargin);
  }
}

TEST(Compare, NeighboursAndGapsOfTheCaptureAreNamed) {
  ComparedGroup a = group_of("a", kTen);
  a.units[0].beside = 2;
  a.units[1].runs.front().uncaptured = "capture.torch: not captured: too new";
  EXPECT_EQ(judge_groups({a, group_of("b", kTen)}, {}).groups[0].warnings,
            (std::vector<std::string>{
                "1 of 5 shared the machine with runs of their workload that are not in the group.",
                "1 of its runs lack a part of the capture, such as capture.torch: not captured: "
                "too new."}));
}

TEST(Compare, AGroupWithoutValuesIsNoPartOfTheFamily) {
  ComparedGroup none = group_of("none", {10, 11});
  for (UnitValue& unit : none.units) unit.value.reset();
  const Comparison all =
      judge_groups({group_of("a", kTen), group_of("b", {12.9, 13.4, 13.1}), none}, {});
  EXPECT_EQ(all.family, 1U);
  EXPECT_DOUBLE_EQ(all.confidence, 0.95);
}

// p = 0.02 alone, 0.08 among four.
TEST(Compare, AFamilyIsCorrected) {
  const ComparedGroup a = group_of("a", {10, 10.2, 9.8, 10.1, 9.9});
  const ComparedGroup b = group_of("b", {10.3, 10.5, 10.1, 10.2, 10.6});
  const Comparison alone = judge_groups({a, b}, {});
  EXPECT_EQ(alone.differences[0].verdict, RatioVerdict::kGreater);
  const Comparison four = judge_groups({a, b, a, a, a}, {});
  EXPECT_DOUBLE_EQ(four.differences[0].tests.different, alone.differences[0].tests.different);
  EXPECT_EQ(four.differences[0].verdict, RatioVerdict::kInconclusive);
  EXPECT_DOUBLE_EQ(four.confidence, 0.9875);
  EXPECT_LT(four.differences[0].interval.low, alone.differences[0].interval.low);
  EXPECT_GT(*four.differences[0].more, *alone.differences[0].more) << "its interval is wider";
}

TEST(Compare, ManyMoreValuesOnOneSideAreNamed) {
  const auto warnings = [](std::size_t few, std::size_t many) {
    std::vector<double> values;
    for (std::size_t i = 0; i < many; ++i) values.push_back(10 + 0.1 * static_cast<double>(i));
    const std::vector<double> less(values.begin(), values.begin() + static_cast<long>(few));
    return judge_groups({group_of("a", less), group_of("b", values)}, {})
        .differences.front()
        .warnings;
  };
  EXPECT_TRUE(warnings(3, 8).empty());
  ASSERT_EQ(warnings(3, 9).size(), 1U);
  EXPECT_TRUE(warnings(3, 9).front().starts_with("One side has many more values"));
  EXPECT_TRUE(warnings(1, 9).empty()) << "there is no interval";
}

// Blocks differ by half of the value, the two sides by 5 %. SciPy's ttest_rel on the logarithms.
TEST(Compare, UnitsOfTheSameBlocksOfAPlanArePairs) {
  ComparedGroup a = group_of("a", {10, 12, 9, 14}), b = group_of("b", {9.4, 10.5, 12.7, 14.6});
  EXPECT_EQ(judge_groups({a, b}, {}).differences[0].verdict, RatioVerdict::kInconclusive);
  const std::array<std::string_view, 4> of_a = {"p#1", "p#2", "p#3", "p#4"},
                                        of_b = {"p#3", "p#1", "p#2", "p#4"};
  for (std::size_t i = 0; i < 4; ++i) {
    a.units[i].block = of_a.at(i);
    b.units[i].block = of_b.at(i);
  }
  const auto compared = [&] { return judge_groups({a, b}, {}).differences[0]; };
  const GroupDifference found = compared();
  EXPECT_TRUE(found.ratio.paired);
  EXPECT_EQ(found.verdict, RatioVerdict::kGreater);
  EXPECT_NEAR(found.interval.mean, 1.04889130, 1e-6);
  EXPECT_NEAR(found.interval.low, 1.03784681, 1e-6);
  EXPECT_NEAR(found.interval.high, 1.06005333, 1e-6);
  EXPECT_NEAR(found.tests.different, 0.00073334, 1e-6);
  EXPECT_NE(found.text.find(", 4 pairs)"), std::string::npos) << found.text;
  b.units[0].value.reset();
  b.units[0].reason = "it ended as failed";
  EXPECT_EQ(compared().ratio.a, 3U);
  EXPECT_EQ(
      compared().warnings,
      std::vector<std::string>{"3 of 4 blocks have a value of both: the others do not count."});
}

TEST(Compare, UnitsOfABlockWithTwoOfASideOrOfNoBlockAreNoPairs) {
  ComparedGroup a = group_of("a", {10, 12, 9}), b = group_of("b", {10.5, 12.7, 9.4});
  for (std::size_t i = 0; i < 3; ++i) a.units[i].block = b.units[i].block = i < 2 ? "p#1" : "p#2";
  ComparedGroup one = group_of("one", {10}), other = group_of("other", {11});
  one.units[0].block = other.units[0].block = "p#1";
  EXPECT_FALSE(judge_groups({one, other}, {}).differences[0].ratio.paired) << "one block is none";
  const auto is_paired = [&] { return judge_groups({a, b}, {}).differences[0].ratio.paired; };
  EXPECT_FALSE(is_paired());
  a.units[0].value.reset();
  EXPECT_FALSE(is_paired()) << "two of b in a block";
  b.units[1].value.reset();
  EXPECT_TRUE(is_paired()) << "one of each that counts";
  b.units.push_back(unit_of(1));
  b.units.back().value.reset();
  EXPECT_TRUE(is_paired()) << "an attempt that never started is in no block";
  b.units[2].block.clear();
  EXPECT_FALSE(is_paired());
  EXPECT_EQ(
      judge_groups({a, b}, {}).differences[0].warnings,
      std::vector<std::string>{"Some runs are in no block of a plan: no pairs are compared."});
}

ComparedGroup times_of(std::string name, const std::vector<double>& reached,
                       const std::vector<double>& missed = {}) {
  ComparedGroup group = group_of(std::move(name), reached);
  for (const double seconds : missed) {
    group.units.push_back(unit_of(1));
    group.units.back().value.reset();
    group.units.back().missed_s = seconds;
    group.units.back().name = "calm-otter";
    group.units.back().reason = "it did not reach the target";
  }
  return group;
}
Comparison judge_times_of(std::vector<ComparedGroup> groups) {
  for (ComparedGroup& group : groups)
    for (UnitValue& unit : group.units) unit.unit = "s";
  return judge_groups(std::move(groups), {.value = {.kind = ComparedValue::Kind::kTarget,
                                                    .metric = {},
                                                    .target = *parse_target("val_acc>=0.9")}});
}

TEST(Compare, TimesToATargetAreComparedByRank) {
  const Comparison all = judge_times_of(
      {times_of("a", {405, 377, 340, 392}, {500}), times_of("b", {312, 298, 330, 305, 321})});
  EXPECT_EQ(all.value, "time to val_acc >= 0.9");
  EXPECT_EQ(all.groups[0].missed, 1U);
  EXPECT_TRUE(all.groups[0].warnings.empty());
  EXPECT_FALSE(all.groups[0].mean);
  const GroupDifference& found = all.differences.front();
  EXPECT_EQ(found.verdict, RatioVerdict::kLess);
  EXPECT_TRUE(std::isnan(found.interval.mean)) << "a miss has no ratio";
  EXPECT_EQ(found.text,
            "b reaches it sooner than a (p = 0.0079). b: 5 of 5 in 5:13; a: 4 of 5 in 6:43 on "
            "average, misses counted as 8:20.");
}

TEST(Compare, FewTimesCannotDifferAndSayIt) {
  const GroupDifference found =
      judge_times_of({times_of("a", {10, 11, 12}), times_of("b", {1, 2, 3})}).differences.front();
  EXPECT_EQ(found.verdict, RatioVerdict::kTooFew);
  EXPECT_TRUE(
      found.text.starts_with("3 against 3 runs cannot show a difference at 5 %, whatever their "
                             "times are. b: 3 of 3 in 2 s"))
      << found.text;
}

TEST(Compare, AMissThatEndedBeforeAnotherReachedItHasNoVerdict) {
  const GroupDifference found = judge_times_of({times_of("a", {405, 377, 340, 392}, {390}),
                                                times_of("b", {312, 298, 330, 305, 321})})
                                    .differences.front();
  EXPECT_EQ(found.verdict, RatioVerdict::kUnequal);
  EXPECT_TRUE(found.text.starts_with("No verdict: calm-otter ended after 6:30 without"))
      << found.text;
}

TEST(Compare, GroupsThatAllMissAreInconclusive) {
  const GroupDifference found =
      judge_times_of({times_of("a", {}, {5, 6, 7, 8}), times_of("b", {}, {50, 60, 70, 80})})
          .differences.front();
  EXPECT_EQ(found.verdict, RatioVerdict::kInconclusive);
  EXPECT_EQ(found.text, "No run of a or b reached the target.");
}

// The ranks decide: nine of ten of a are the sooner ones, and the tenth makes its mean the greater.
TEST(Compare, TimesFarFromTheOthersDoNotTurnAVerdict) {
  const GroupDifference found =
      judge_times_of({times_of("a", {100, 101, 102, 103, 104, 105, 106, 107, 108, 5000}),
                      times_of("b", {200, 201, 202, 203, 204, 205, 206, 207, 208, 209})})
          .differences.front();
  EXPECT_LT(found.target->mean_b_s, found.target->mean_a_s);
  EXPECT_EQ(found.verdict, RatioVerdict::kGreater);
  EXPECT_TRUE(
      found.text.starts_with("b reaches it later than a (p = 0.0015), although not on average."))
      << found.text;
}

TEST(Compare, AFamilyOfFewTimesCannotDiffer) {
  const ComparedGroup a = times_of("a", {10, 11, 12, 13}), b = times_of("b", {1, 2, 3, 4});
  EXPECT_EQ(judge_times_of({a, b}).differences[0].verdict, RatioVerdict::kLess) << "p = 0.029";
  const Comparison all = judge_times_of({a, b, b, b});
  EXPECT_EQ(all.differences[0].verdict, RatioVerdict::kTooFew);
  EXPECT_TRUE(all.differences[0].text.starts_with(
      "4 against 4 runs cannot show a difference at 5 % among 3 comparisons"))
      << all.differences[0].text;
}

TEST(Compare, SeveralTimesToATargetAreAFamily) {
  const ComparedGroup a = times_of("a", {405, 377, 340, 392, 318}),
                      b = times_of("b", {312, 298, 330, 305, 321});
  EXPECT_EQ(judge_times_of({a, b}).differences[0].verdict, RatioVerdict::kLess) << "p = 0.032";
  const Comparison three = judge_times_of({a, b, b});
  EXPECT_EQ(three.family, 2U);
  EXPECT_EQ(three.differences[0].verdict, RatioVerdict::kInconclusive) << "p = 0.063";
}

TEST(Compare, OfMetricsNoSideIsBetter) {
  ComparedGroup a = group_of("a", {100, 101, 102}), b = group_of("b", {200, 202, 204});
  for (auto* group : {&a, &b})
    for (UnitValue& unit : group->units) unit.unit = "W";
  const Comparison all = judge_groups(
      {a, b}, {.value = {.kind = ComparedValue::Kind::kMetric, .metric = "host.gpu.power"}});
  EXPECT_EQ(all.value, "mean over time of host.gpu.power");
  EXPECT_TRUE(all.differences[0].text.starts_with("b is 2 × a (95 %: 1.9"))
      << all.differences[0].text;
}

}  // namespace
}  // namespace corral::analyze
