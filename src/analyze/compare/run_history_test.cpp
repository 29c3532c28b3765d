#include "analyze/compare/run_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace corral::analyze {
namespace {

constexpr double kMargin = 0.02;

// Logarithms of times with this coefficient of variation around levels.
class Logs {
 public:
  explicit Logs(std::uint64_t seed, double deviation = 0.02)
      : random_(seed), noise_(0, deviation) {}
  Logs& add(int runs, double level) {
    for (int i = 0; i < runs; ++i) logs_.push_back(std::log(level) + noise_(random_));
    return *this;
  }
  Logs& add_stall() {
    logs_.push_back(std::log(2.0));
    return *this;
  }
  [[nodiscard]] std::vector<std::size_t> changes() const {
    return find_run_changes(without_outliers(logs_), kMargin);
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> noise_;
  std::vector<double> logs_;
};

TEST(RunHistory, AStepOfFivePercentIsFoundOnceEightRunsFollow) {
  int found = 0, any = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto changes = Logs(seed).add(40, 1).add(8, 1.05).changes();
    any += changes.size() == 1 ? 1 : 0;
    found += changes.size() == 1 && changes[0] >= 39 && changes[0] <= 41 ? 1 : 0;
  }
  EXPECT_GE(any, 188);
  EXPECT_GE(found, 170) << "the best place itself is within one run in 93 %";
}

TEST(RunHistory, HundredHistoriesWithoutAChangeHaveHardlyAny) {
  int changes = 0;
  for (std::uint64_t seed = 1000; seed < 1300; ++seed)
    changes += static_cast<int>(Logs(seed).add(100, 1).changes().size());
  EXPECT_LE(changes, 3) << "one in a hundred";
}

TEST(RunHistory, SingleStallsAreNoChange) {
  int changes = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    changes += static_cast<int>(Logs(seed)
                                    .add(20, 1)
                                    .add_stall()
                                    .add(30, 1)
                                    .add_stall()
                                    .add(10, 1)
                                    .add_stall()
                                    .changes()
                                    .size());
  EXPECT_LE(changes, 1);
}

TEST(RunHistory, StepsThereAndBackAreTwo) {
  EXPECT_EQ(Logs(1).add(20, 1).add(12, 1.2).add(20, 1).changes(),
            (std::vector<std::size_t>{20, 32}));
}

TEST(RunHistory, ALargeStepIsSuspectedFromTwoRunsOn) {
  EXPECT_EQ(Logs(1).add(20, 1).add(2, 1.3).changes(), std::vector<std::size_t>{20});
  EXPECT_TRUE(Logs(1).add(20, 1).add(1, 1.3).changes().empty());
}

// Wherever it stalls: in the first runs, in the newest ones, beside the step.
TEST(RunHistory, AStepIsFoundBesideAStall) {
  for (const int at : {0, 3, 20, 41, 46}) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Logs logs(seed);
      const auto add = [&](int from, int to, double level) {
        for (int i = from; i < to; ++i) i == at ? logs.add_stall() : logs.add(1, level);
      };
      add(0, 40, 1);
      add(40, 48, 1.1);
      found += logs.changes().size() == 1 ? 1 : 0;
    }
    EXPECT_GE(found, 90) << at;
  }
}

TEST(RunHistory, AShortStepHidesNoLastingOne) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto changes = Logs(seed).add(20, 1).add(3, 1.4).add(8, 1.1).changes();
    found += !changes.empty() && changes.back() >= 20 && changes.back() <= 24 ? 1 : 0;
  }
  EXPECT_GE(found, 90);
}

TEST(RunHistory, SmallStepsDoNotMatter) {
  EXPECT_TRUE(Logs(1, 0.001).add(50, 1).add(50, 1.01).changes().empty()) << "the margin is 2 %";
  EXPECT_EQ(Logs(1, 0.001).add(50, 1).add(50, 1.03).changes(), std::vector<std::size_t>{50});
}

TEST(RunHistory, EqualAndFewValuesHaveNone) {
  EXPECT_TRUE(find_run_changes({}, kMargin).empty());
  EXPECT_TRUE(without_outliers({}).empty());
  EXPECT_TRUE(find_run_changes(std::vector<double>(100, 0.5), kMargin).empty());
  EXPECT_TRUE(find_run_changes(std::vector<double>{0, 1, 0}, kMargin).empty());
  const std::vector<double> clean = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(find_run_changes(clean, kMargin), std::vector<std::size_t>{6});
}

}  // namespace
}  // namespace corral::analyze
