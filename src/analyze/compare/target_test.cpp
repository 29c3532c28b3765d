#include "analyze/compare/target.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

TEST(Target, IsAMetricASignAndANumber) {
  const auto parsed = [](std::string_view text) {
    const auto target = parse_target(text);
    return target ? print_target(*target) : "";
  };
  EXPECT_EQ(parsed("val_acc>=0.9"), "val_acc >= 0.9");
  EXPECT_EQ(parsed(" val/acc > 90 "), "val/acc > 90");
  EXPECT_EQ(parsed("loss<=1e-3"), "loss <= 0.001");
  EXPECT_EQ(parsed("a<b < -2"), "a<b < -2");
  for (const char* text : {"", "val_acc", ">= 3", "val_acc >=", "val_acc >= x", "val_acc >= nan",
                           "val_acc = 0.9", "val_acc >= inf", "val_acc >== 1"})
    EXPECT_EQ(parsed(text), "") << text;
}

// SciPy's permutation_test of the rank sum with all permutations, and mannwhitneyu(method="exact").
TEST(Target, RankTestsAgreeWithAllPermutations) {
  const std::vector<double> a = {312, 298, 330, 305, 321}, b = {405, 377, 340, 392, 318};
  EXPECT_NEAR(rank_test(a, b).p, 0.031746031746031744, 1e-12);
  EXPECT_NEAR(rank_test(b, a).p, 0.031746031746031744, 1e-12);
  EXPECT_NEAR(rank_test(std::vector<double>{312, 298, 330, 305, kNever},
                        std::vector<double>{405, 377, 340, kNever, kNever})
                  .p,
              0.09523809523809523, 1e-12);
  EXPECT_NEAR(rank_test(std::vector<double>{1, 1, 2, 2}, std::vector<double>{2, 3, 3, 3}).p,
              0.08571428571428572, 1e-12);
  EXPECT_EQ(rank_test(std::vector<double>(4, kNever), std::vector<double>(5, kNever)).p, 1);
  std::vector<double> even(50), odd(50);
  for (std::size_t i = 0; i < even.size(); ++i) {
    even[i] = 2 * static_cast<double>(i);
    odd[i] = even[i] + 9;
  }
  EXPECT_NEAR(rank_test(even, odd).p, 0.13970580825435247, 1e-9);
}

// SciPy's mannwhitneyu(method="asymptotic").
TEST(Target, RankTestsOfManyAreThoseOfTheNormalApproximation) {
  std::vector<double> a(60), b(60), c(60), d(60);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = 2 * static_cast<double>(i);
    b[i] = a[i] + 21;
    c[i] = static_cast<double>(i / 3);
    d[i] = c[i] + 4;
  }
  EXPECT_NEAR(rank_test(a, b).p, 0.0025668879435241754, 1e-12);
  EXPECT_NEAR(rank_test(c, d).p, 0.0006689655596650372, 1e-12) << "with ties";
}

TEST(Target, FamiliesAreAdjustedByHolmsSteps) {
  EXPECT_EQ(adjust_by_holm(std::vector<double>{0.04, 0.01, 0.03}),
            (std::vector<double>{0.06, 0.03, 0.06}));
  EXPECT_EQ(adjust_by_holm(std::vector<double>{0.8, 0.9}), (std::vector<double>{1, 1}));
  EXPECT_TRUE(adjust_by_holm({}).empty());
}

// Means count a miss as the shortest one.
TEST(Target, MissesEndAtTheBudget) {
  const std::vector<TargetTime> a = {{.seconds = 10, .reached = true}, {.seconds = 40}},
                                b = {{.seconds = 20, .reached = true}, {.seconds = 30}};
  const TargetDifference found = compare_times(a, b);
  EXPECT_EQ(found.budget_s, 30);
  EXPECT_EQ(found.mean_a_s, 20);
  EXPECT_EQ(found.mean_b_s, 25);
  EXPECT_EQ(found.problem, "");
  EXPECT_NEAR(found.least_p, 1.0 / 3, 1e-12) << "two against two";
}

class TargetOfAStore : public ::testing::Test {
 protected:
  RunId add(const std::vector<std::pair<std::int64_t, double>>& points) {
    const RunId run = RunId::random();
    store::testing::SessionWriter writer;
    store_.append({writer.frame(store::testing::session_body(run))});
    store_.append(
        {writer.frame(codec::SchemaBody{.series = {store::testing::series_def(1, "acc")}})});
    store_.append({writer.frame(store::testing::samples(1, points))});
    return run;
  }
  std::int64_t reached(RunId run, const char* text) {
    const auto found = search_target(*store_, run, *parse_target(text)).value();
    return found.reached ? ns_of(*found.reached) - store::testing::kUtcMinusBoot : -1;
  }

  query::testing::TestStore store_;
};

TEST_F(TargetOfAStore, TheFirstValueCountsUnsmoothed) {
  const RunId run = add({{1000, 0.1}, {2000, std::nan("")}, {3000, 0.9}, {4000, 0.2}, {5000, 1}});
  EXPECT_EQ(reached(run, "acc >= 0.9"), 3000);
  EXPECT_EQ(reached(run, "acc > 0.9"), 5000);
  EXPECT_EQ(reached(run, "acc <= 0.1"), 1000);
  EXPECT_EQ(reached(run, "acc > 1"), -1);
  EXPECT_FALSE(search_target(*store_, run, *parse_target("loss > 1")).value().has_values);
}

// Longer than the blocks of the store, with the value in the midst of one, and once more later.
TEST_F(TargetOfAStore, LongSeriesAreSearchedByTheirBuckets) {
  std::vector<std::pair<std::int64_t, double>> points(100'000);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = {1000 * static_cast<std::int64_t>(i + 1), static_cast<double>(i % 7)};
  points[51'234].second = points[90'000].second = 42;
  points[51'233].second = kNever;
  const RunId run = add(points);
  EXPECT_EQ(reached(run, "acc >= 42"), 51'235'000);
  EXPECT_EQ(reached(run, "acc >= 6"), 7000);
  EXPECT_EQ(reached(run, "acc < 0"), -1);
}

}  // namespace
}  // namespace corral::analyze
