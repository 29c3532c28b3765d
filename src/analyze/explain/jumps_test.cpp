#include "analyze/explain/jumps.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "analyze/explain/test_series.h"

namespace corral::analyze {
namespace {

using testing::in_columns;
using testing::NoiseKind;
using testing::SeriesMaker;

constexpr std::array kNoises = {NoiseKind::kGauss, NoiseKind::kAlike, NoiseKind::kDips,
                                NoiseKind::kSine};
constexpr std::size_t kPoints = 10'000;
constexpr std::size_t kGridColumns = 1024;
// The thresholds were chosen on other seeds and another generator.
constexpr std::uint64_t kFirstSeed = 810'000;

struct Score {
  int right = 0, wrong = 0, missed = 0;
  void add(const std::vector<double>& planted, const Jumps& found, std::size_t columns) {
    std::vector<bool> used(found.jumps.size());
    for (const double place : planted) {
      bool hit = false;
      for (std::size_t i = 0; i < used.size() && !hit; ++i) {
        const double at = static_cast<double>(found.jumps[i].at) / static_cast<double>(columns);
        hit = !used[i] && std::abs(at - place) <= 0.01;
        used[i] = used[i] || hit;
      }
      (hit ? right : missed) += 1;
    }
    for (const bool one : used) wrong += one ? 0 : 1;
  }
  [[nodiscard]] double f1() const { return 2.0 * right / (2.0 * right + wrong + missed); }
};

class JumpsInNoise : public ::testing::TestWithParam<NoiseKind> {};

TEST_P(JumpsInNoise, AreFoundFromOneStandardDeviationOn) {
  for (const double size : {1.0, 2.0, 5.0}) {
    Score score;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SeriesMaker make(kFirstSeed + seed);
      std::vector<double> values = make.noise(GetParam(), kPoints);
      const std::vector<double> planted = make.add_steps(values, 5, size);
      score.add(planted, find_jumps(in_columns(values, kGridColumns)), kGridColumns);
    }
    EXPECT_GE(score.f1(), 0.9) << "kind " << static_cast<int>(GetParam()) << ", steps of " << size
                               << ": " << score.wrong << " wrong, " << score.missed << " missed";
  }
}

TEST_P(JumpsInNoise, NoneIsFoundWhereThereIsNone) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto values = SeriesMaker(kFirstSeed + 1000 + seed).noise(GetParam(), kPoints);
    EXPECT_TRUE(find_jumps(in_columns(values, kGridColumns)).jumps.empty()) << seed;
  }
}

TEST_P(JumpsInNoise, ADriftIsNone) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<double> values = SeriesMaker(kFirstSeed + 2000 + seed).noise(GetParam(), kPoints);
    std::vector<double> falling(values);
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double x = static_cast<double>(i) / kPoints;
      values[i] += 20 * x;
      falling[i] += 20 * std::exp(-6 * x);
    }
    for (const auto& one : {values, falling}) {
      const Jumps found = find_jumps(in_columns(one, kGridColumns));
      EXPECT_TRUE(found.jumps.empty()) << seed;
      EXPECT_TRUE(found.drifts) << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, JumpsInNoise, ::testing::ValuesIn(kNoises));

TEST(FindJumps, SayWhatTheMeanWasBeforeAndAfter) {
  std::vector<double> values(300, 3);
  std::fill(values.begin() + 100, values.begin() + 250, 97);
  const Jumps found = find_jumps(values);
  ASSERT_EQ(found.jumps.size(), 2U);
  EXPECT_EQ(found.jumps[0].at, 100U);
  EXPECT_EQ(found.jumps[0].length, 150U);
  EXPECT_DOUBLE_EQ(found.jumps[0].before, 3);
  EXPECT_DOUBLE_EQ(found.jumps[0].after, 97);
  EXPECT_EQ(found.jumps[1].at, 250U);
  EXPECT_EQ(found.jumps[1].length, 50U);
}

TEST(FindJumps, AJumpWithinADriftIsFound) {
  std::vector<double> values(1000);
  SeriesMaker make(7);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.01 * static_cast<double>(i) + (i < 600 ? 0 : 8) + 0.5 * make.normal();
  const Jumps found = find_jumps(values);
  ASSERT_EQ(found.jumps.size(), 1U);
  EXPECT_NEAR(static_cast<double>(found.jumps[0].at), 600, 2);
}

TEST(FindJumps, TheExtremesAreNoTrouble) {
  EXPECT_TRUE(find_jumps({}).jumps.empty());
  EXPECT_TRUE(find_jumps(std::vector<double>(15, 1)).jumps.empty());
  for (const double value : {0.0, 0.1, -1e150, 1e-300}) {
    const Jumps found = find_jumps(std::vector<double>(500, value));
    EXPECT_TRUE(found.jumps.empty()) << value;
    EXPECT_FALSE(found.drifts) << value;
  }
  for (std::size_t n = 16; n < 60; ++n) {
    std::vector<double> values(n, 1e150);
    for (std::size_t i = 0; i < n / 2; ++i) values[i] = -1e150;
    const Jumps found = find_jumps(values);
    ASSERT_EQ(found.jumps.size(), 1U) << n;
    EXPECT_EQ(found.jumps[0].at, n / 2);
    EXPECT_TRUE(std::isfinite(found.deviation));
  }
}

TEST(FitLine, SaysWhatPartOfTheVarianceItExplains) {
  const StraightLine line = fit_line(std::vector<double>{1, 3, 5, 7});
  EXPECT_DOUBLE_EQ(line.middle, 4);
  EXPECT_DOUBLE_EQ(line.slope, 2);
  EXPECT_DOUBLE_EQ(line.share, 1);
  EXPECT_EQ(fit_line(std::vector<double>(9, 5)).share, 0);
  EXPECT_EQ(fit_line({}).slope, 0);
}

}  // namespace
}  // namespace corral::analyze
