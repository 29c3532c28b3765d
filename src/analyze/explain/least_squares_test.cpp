#include "analyze/explain/least_squares.h"

#include <gtest/gtest.h>

#include "analyze/split_mix.h"

namespace corral::analyze {
namespace {

using Row = std::vector<double>;

void expect_close(const std::vector<double>& found, const std::vector<double>& wanted,
                  double error = 1e-6) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], error) << i;
}

TEST(LeastSquares, FindsTheWeightsOfRowsWithoutNoise) {
  NormalEquations equations(3);
  const std::vector<double> weights = {2, 0.5, 7};
  SplitMix random(1);
  for (int i = 0; i < 50; ++i) {
    Row row;
    double value = 0;
    for (const double weight : weights) {
      row.push_back(static_cast<double>(random.below(1000)));
      value += weight * row.back();
    }
    equations.add(row, value);
  }
  expect_close(equations.solve(), weights);
  expect_close(equations.solve_nonnegative(), weights);
}

TEST(LeastSquares, HoldsWeightsAtZeroThatWouldBeBelow) {
  // y = 2 a − b: without b, the least error is at a = (2·1 + 1·1) / 2.
  NormalEquations equations(2);
  equations.add(Row{1, 0}, 2);
  equations.add(Row{1, 1}, 1);
  expect_close(equations.solve(), {2, -1});
  expect_close(equations.solve_nonnegative(), {1.5, 0});
}

// Against every choice of columns that may be above 0.
TEST(LeastSquares, FindsTheSameAsTheBestOfAllActiveSets) {
  SplitMix random(2);
  const auto uniform = [&] { return static_cast<double>(random.below(2001)) / 1000 - 1; };
  constexpr std::size_t kColumns = 4;
  for (int round = 0; round < 300; ++round) {
    std::vector<Row> rows(12, Row(kColumns));
    std::vector<double> values;
    NormalEquations all(kColumns);
    for (Row& row : rows) {
      for (double& cell : row) cell = uniform();
      values.push_back(uniform());
      all.add(row, values.back());
    }
    const auto error = [&](const std::vector<double>& weights) {
      double sum = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        double rest = values[i];
        for (std::size_t k = 0; k < kColumns; ++k) rest -= rows[i][k] * weights[k];
        sum += rest * rest;
      }
      return sum;
    };
    double best = error(std::vector<double>(kColumns));
    for (unsigned set = 1; set < 1U << kColumns; ++set) {
      NormalEquations some(kColumns);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        Row row = rows[i];
        for (std::size_t k = 0; k < kColumns; ++k)
          if ((set >> k & 1U) == 0) row[k] = 0;
        some.add(row, values[i]);
      }
      const std::vector<double> weights = some.solve();
      if (std::ranges::all_of(weights, [](double weight) { return weight >= 0; }))
        best = std::min(best, error(weights));
    }
    const std::vector<double> found = all.solve_nonnegative();
    for (const double weight : found) ASSERT_GE(weight, 0);
    ASSERT_NEAR(error(found), best, 1e-7) << round;
  }
}

TEST(LeastSquares, KnowsColumnsThatCannotBeToldApart) {
  NormalEquations equations(4);
  equations.add(Row{1, 2, 0, 0}, 1);
  equations.add(Row{2, 4, 1, 0}, 1);
  equations.add(Row{3, 6, 5, 0}, 1);
  const std::vector<double> inflation = equations.inflation();
  EXPECT_GT(inflation[0], kCollinear);
  EXPECT_GT(inflation[1], kCollinear);
  EXPECT_LT(inflation[2], 100);
  EXPECT_EQ(inflation[3], 0) << "no rows";
  EXPECT_EQ(equations.solve()[3], 0);
  for (const double weight : equations.solve_nonnegative()) EXPECT_TRUE(weight >= 0);
}

TEST(LeastSquares, AddsRowsOfOthersAndForgetsTheLastColumn) {
  NormalEquations one(2), two(2), sum(2), twice(2);
  one.add(Row{1, 1}, 3);
  two.add(Row{1, 2}, 5);
  sum.add(one, 1);
  sum.add(two, 1);
  expect_close(sum.solve(), {1, 2});
  twice.add(one, 2);
  twice.add(two, 2);
  expect_close(twice.solve(), {1, 2});
  expect_close(sum.without_last().solve(), {4}, 1e-6);
}

}  // namespace
}  // namespace corral::analyze
