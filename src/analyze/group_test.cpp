#include "analyze/group.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "analyze/line.h"
#include "analyze/student_t.h"

namespace corral::analyze {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Two points per column with this mean; NaN: none.
query::ResampledSeries line(std::int64_t id, const std::vector<double>& means) {
  query::ResampledSeries series;
  series.id = SeriesId{id};
  series.exact = true;
  for (const double m : means) {
    if (std::isnan(m)) {
      series.cells.push_back({});
    } else {
      series.cells.push_back({.count = 2, .sum = 2 * m, .min = m - 1, .max = m + 1});
    }
  }
  return series;
}

GroupAnswer group(const GroupRequest& request) {
  const auto answer = aggregate_group(request);
  EXPECT_TRUE(answer) << answer.error().message;
  return answer.value_or(GroupAnswer{});
}

// ---- Student's t: two-sided 95 % and one-sided 99.5 % of the usual tables
TEST(StudentT, TableValues) {
  const std::map<double, std::pair<double, double>> table{
      {1, {12.706, 63.657}}, {2, {4.303, 9.925}},  {3, {3.182, 5.841}},   {4, {2.776, 4.604}},
      {5, {2.571, 4.032}},   {7, {2.365, 3.499}},  {9, {2.262, 3.250}},   {10, {2.228, 3.169}},
      {15, {2.131, 2.947}},  {20, {2.086, 2.845}}, {29, {2.045, 2.756}},  {30, {2.042, 2.750}},
      {60, {2.000, 2.660}},  {99, {1.984, 2.626}}, {120, {1.980, 2.617}}, {1e6, {1.960, 2.576}}};
  for (const auto& [degrees, t] : table) {
    EXPECT_NEAR(student_t_quantile(0.975, degrees), t.first, 5.1e-4) << degrees;
    EXPECT_NEAR(student_t_quantile(0.995, degrees), t.second, 5.1e-4) << degrees;
    EXPECT_NEAR(student_t_quantile(0.025, degrees), -student_t_quantile(0.975, degrees), 1e-10);
  }
  EXPECT_NEAR(student_t_quantile(0.975, 99), 1.98421695158641750, 1e-13);
  // More digits: from the incomplete beta function in arithmetic of 30 digits.
  EXPECT_NEAR(student_t_quantile(0.975, 3), 3.18244630528370959, 1e-13);
  EXPECT_NEAR(student_t_quantile(0.975, 10), 2.22813885198627475, 1e-13);
  EXPECT_NEAR(student_t_quantile(0.9995, 5), 6.86882662588111025, 1e-12);
}

// F(t) in closed form for 3 and 4 degrees of freedom.
TEST(StudentT, DistributionFunctionInClosedForm) {
  for (double t = -8; t <= 8; t += 0.37) {
    const double u = t / std::sqrt(3.0);
    EXPECT_NEAR(student_t_cdf(t, 3), 0.5 + (u / (1 + u * u) + std::atan(u)) / M_PI, 1e-13);
    const double w = 1 + t * t / 4;
    EXPECT_NEAR(student_t_cdf(t, 4), 0.5 + 0.375 * t / std::sqrt(w) * (1 - t * t / w / 12), 1e-13);
  }
}

RC_GTEST_PROP(StudentT, QuantileTurnsTheDistributionRound, ()) {
  const double degrees = *rc::gen::inRange(100, 100'000) / 100.0;
  const double p = std::pow(10.0, -*rc::gen::inRange(1, 900) / 100.0);
  const double t = student_t_quantile(p, degrees);
  RC_ASSERT(std::abs(student_t_cdf(t, degrees) - p) <= 1e-9 * p);
}

TEST(StudentT, NothingToAsk) {
  for (const double p : {0.0, 1.0, -1.0, kNone}) EXPECT_TRUE(std::isnan(student_t_quantile(p, 5)));
  EXPECT_TRUE(std::isnan(student_t_quantile(0.9, 0.5)));
  EXPECT_TRUE(std::isnan(mean_interval(1, 1, 0.95)));
  EXPECT_EQ(student_t_quantile(0.5, 7), 0);
}

// ---- groups
TEST(Group, StatisticsOfRepetitions) {
  const auto a = line(1, {1, 10, kNone, kNone});
  const auto b = line(2, {2, kNone, kNone, 5});
  const auto c = line(3, {6, 20, kNone, kNone});
  const auto got =
      group({.members = {{&a, "a", "", 0, 0}, {&b, "b", "", 0, 0}, {&c, "c", "", 0, 0}},
             .aggregation = metric::Aggregation::kSum,
             .repetitions = true});
  EXPECT_EQ(got.units, 3U);
  EXPECT_EQ(got.n, (std::vector<std::uint32_t>{3, 2, 0, 1}));
  EXPECT_EQ(got.mean[0], 3);
  EXPECT_EQ(got.sum[0], 9);
  EXPECT_EQ(got.low[0], 1);
  EXPECT_EQ(got.high[0], 6);
  EXPECT_EQ(got.least[0], 0);
  EXPECT_EQ(got.greatest[0], 7);
  EXPECT_EQ(got.lower_quartile[0], 1.5);
  EXPECT_EQ(got.median[0], 2);
  EXPECT_EQ(got.upper_quartile[0], 4);
  EXPECT_EQ(got.median[1], 15);
  EXPECT_TRUE(std::isnan(got.median[2]));
  EXPECT_EQ(got.upper_quartile[3], 5);
  EXPECT_NEAR(got.deviation[0], std::sqrt(7.0), 1e-12);
  EXPECT_NEAR(got.interval[0], 4.302652729911275 * std::sqrt(7.0 / 3), 1e-9);
  EXPECT_NEAR(got.interval[1], 12.70620473617471 * 5, 1e-8);
  EXPECT_TRUE(std::isnan(got.mean[2]));
  EXPECT_TRUE(std::isnan(got.least[2]));
  EXPECT_EQ(got.mean[3], 5);
  EXPECT_TRUE(std::isnan(got.interval[3]));
  EXPECT_EQ(got.reason, IntervalReason::kGiven);
}

TEST(Group, NoIntervalWithoutRepetitions) {
  const auto a = line(1, {1});
  const auto b = line(2, {2});
  const auto apart = group({.members = {{&a, "a", "", 0, 0}, {&b, "b", "", 0, 0}}});
  EXPECT_EQ(apart.reason, IntervalReason::kNotRepetitions);
  EXPECT_TRUE(std::isnan(apart.interval[0]));
  EXPECT_FALSE(std::isnan(apart.deviation[0]));
  const auto alone = group({.members = {{&a, "a", "", 0, 0}}, .repetitions = true});
  EXPECT_EQ(alone.reason, IntervalReason::kTooFew);
  EXPECT_TRUE(std::isnan(alone.interval[0]));
  for (const auto reason : {apart.reason, alone.reason})
    EXPECT_TRUE(interval_reason_text(reason).starts_with("no interval"));
}

TEST(Group, AverageHasNoSumAndTheMeanOfItsSources) {
  const auto gpu0 = line(1, {40, 40});
  const auto gpu1 = line(2, {60, kNone});
  const std::vector<GroupMember> members{{&gpu0, "a", "", 0, 0}, {&gpu1, "a", "", 0, 0}};
  const auto mean = group({.members = members});
  EXPECT_TRUE(mean.sum.empty());
  EXPECT_EQ(mean.units, 1U);
  EXPECT_EQ(mean.mean, (std::vector<double>{50, 40}));
  const auto sum = group({.members = members, .aggregation = metric::Aggregation::kSum});
  EXPECT_EQ(sum.sum[0], 100);
  EXPECT_TRUE(std::isnan(sum.sum[1]));  // half of a sum is none
  EXPECT_EQ(sum.n, (std::vector<std::uint32_t>{1, 0}));
}

TEST(Group, AWorkloadsSeriesCountsOnceHoweverManyOfItsRunsAreChosen) {
  const auto host = line(1, {10});
  const auto got =
      group({.members = {{&host, "w", "h", 0, 9}, {&host, "w", "h", 0, 9}, {&host, "w", "h", 0, 9}},
             .aggregation = metric::Aggregation::kSharedOnce});
  EXPECT_EQ(got.sum[0], 10);
  EXPECT_EQ(got.n[0], 1U);
  EXPECT_EQ(got.counted_once, 2U);
}

TEST(Group, OneThingSeenAtTheSameTimeCountsOnce) {
  const auto a = line(1, {10});
  const auto b = line(2, {14});
  const auto c = line(3, {20});
  std::vector<GroupMember> members{{&a, "w1", "host 1", 0, 9}, {&b, "w2", "host 1", 5, 20}};
  const auto shared = metric::Aggregation::kSharedOnce;
  EXPECT_EQ(group({.members = members, .aggregation = shared}).sum[0], 12);
  // Another host is another thing, and so is the same host later.
  members.push_back({&c, "w3", "host 2", 5, 20});
  EXPECT_EQ(group({.members = members, .aggregation = shared}).sum[0], 32);
  members[2].thing = "host 1";
  EXPECT_EQ(group({.members = members, .aggregation = shared}).units, 1U);
  members[2].first = 21;
  members[2].last = 30;
  EXPECT_EQ(group({.members = members, .aggregation = shared}).units, 2U);
  // Only metrics that the catalogue calls shared are merged.
  EXPECT_EQ(group({.members = members, .aggregation = metric::Aggregation::kSum}).sum[0], 44);
}

TEST(Group, SeveralSharedThingsOfTwoWorkloadsAreOneUnit) {
  const auto a0 = line(1, {1});
  const auto a1 = line(2, {2});
  const auto b0 = line(3, {1});
  const auto b1 = line(4, {2});
  const auto got = group({.members = {{&a0, "w1", "cpu0", 0, 9},
                                      {&a1, "w1", "cpu1", 5, 9},
                                      {&b0, "w2", "cpu0", 1, 9},
                                      {&b1, "w2", "cpu1", 2, 9}},
                          .aggregation = metric::Aggregation::kSharedOnce});
  EXPECT_EQ(got.units, 1U);
  EXPECT_EQ(got.sum[0], 3);
}

TEST(Group, HolesAreFilledOnlyWhenAskedAndOnlyBetweenPoints) {
  const auto a = line(1, {kNone, 1, kNone, 3, kNone, kNone, 9, kNone});
  GroupRequest request{.members = {{&a, "a", "", 0, 0}}};
  EXPECT_EQ(group(request).n, (std::vector<std::uint32_t>{0, 1, 0, 1, 0, 0, 1, 0}));
  request.max_hole = 1;
  const auto one = group(request);
  EXPECT_EQ(one.n, (std::vector<std::uint32_t>{0, 1, 1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(one.filled, (std::vector<std::uint32_t>{0, 0, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(one.mean[2], 2);
  request.max_hole = 2;
  const auto two = group(request);
  EXPECT_EQ(two.mean[4], 5);
  EXPECT_EQ(two.mean[5], 7);
  EXPECT_TRUE(std::isnan(two.mean[7]));
}

// Against sums over plain lists.
RC_GTEST_PROP(Group, MeanAndDeviationOfAnyRuns, ()) {
  const auto values = *rc::gen::container<std::vector<std::vector<int>>>(
      rc::gen::container<std::vector<int>>(5, rc::gen::inRange(-1000, 1000)));
  RC_PRE(!values.empty());
  std::vector<query::ResampledSeries> lines;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<double> means;
    for (const int v : values[i]) means.push_back(v % 7 == 0 ? kNone : v);
    lines.push_back(line(static_cast<std::int64_t>(i), means));
  }
  GroupRequest request;
  for (std::size_t i = 0; i < lines.size(); ++i)
    request.members.push_back({&lines[i], std::to_string(i), "", 0, 0});
  const auto got = group(request);
  for (std::size_t c = 0; c < 5; ++c) {
    double sum = 0;
    double squares = 0;
    unsigned n = 0;
    for (const auto& v : values) {
      if (v[c] % 7 == 0) continue;
      sum += v[c];
      squares += static_cast<double>(v[c]) * v[c];
      ++n;
    }
    RC_ASSERT(got.n[c] == n);
    RC_ASSERT(std::isnan(got.mean[c]) == (n == 0));
    if (n > 0) RC_ASSERT(std::abs(got.mean[c] - sum / n) < 1e-9);
    RC_ASSERT(std::isnan(got.deviation[c]) == (n < 2));
    if (n > 1)
      RC_ASSERT(std::abs(got.deviation[c] * got.deviation[c] * (n - 1) -
                         (squares - sum * sum / n)) < 1e-3);
  }
}

TEST(Group, RefusesWhatMeansNothing) {
  const auto a = line(1, {1});
  const auto b = line(2, {1, 2});
  EXPECT_EQ(aggregate_group({}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(aggregate_group({.members = {{&a, "a", "", 0, 0}, {&b, "b", "", 0, 0}}}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(aggregate_group({.members = {{&a, "a", "", 0, 0}}, .confidence = 1}).error().code,
            Code::kInvalidArgument);
}

TEST(Ratio, HolesStayEmpty) {
  const auto above = line(1, {6, kNone, 1, 1, kNone});
  const auto below = line(2, {3, 1, 0, kNone, kNone});
  const auto got = make_ratio(above, below);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->values[0], 2);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_TRUE(std::isnan(got->values[i]));
  EXPECT_EQ(got->columns, 1U);
  EXPECT_EQ(got->only_one, 2U);
  EXPECT_EQ(got->zero_denominators, 1U);
  EXPECT_FALSE(make_ratio(above, line(3, {1})));
}

}  // namespace
}  // namespace corral::analyze
