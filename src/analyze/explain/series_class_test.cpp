#include "analyze/explain/series_class.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "analyze/explain/test_series.h"

namespace corral::analyze {
namespace {

using testing::in_columns;
using testing::NoiseKind;
using testing::SeriesMaker;

constexpr double kHole = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kShapeColumns = 600;
constexpr std::uint64_t kPatternSeeds = 60;
constexpr int kRightOnes = 57;  // 95 %

std::vector<double> make_pattern(SeriesClass pattern, SeriesMaker& make) {
  std::vector<double> values(kShapeColumns);
  for (double& value : values) value = make.normal();
  const double direction = make.uniform() < 0.5 ? -1 : 1;
  switch (pattern) {
    case SeriesClass::kConstant:  // a sensor that flickers between two steps of its scale
      for (double& value : values) value = make.uniform() < 0.1 ? 62 : 61;
      return values;
    case SeriesClass::kTrend:
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] += direction * (0.015 + 0.1 * make.uniform() / 100) * static_cast<double>(i);
      return values;
    case SeriesClass::kSteps:
      make.add_steps(values, 1 + make.below(4), 3);
      return values;
    case SeriesClass::kPeriodic:
      return make.noise(make.uniform() < 0.5 ? NoiseKind::kDips : NoiseKind::kSine, values.size());
    case SeriesClass::kBursts:
      for (int burst = 0; burst < 8; ++burst) {
        const std::size_t at = make.below(values.size() - 3), length = 1 + make.below(3);
        for (std::size_t i = at; i < at + length; ++i) values[i] += direction * 30;
      }
      return values;
    default:
      return make.uniform() < 0.5 ? values : make.noise(NoiseKind::kAlike, values.size());
  }
}

double quantum_of(SeriesClass pattern, const std::vector<double>& values) {
  return pattern == SeriesClass::kConstant ? least_difference(values) : 0;
}

TEST(FindShape, NamesTheSevenPatterns) {
  for (const SeriesClass pattern :
       {SeriesClass::kConstant, SeriesClass::kTrend, SeriesClass::kSteps, SeriesClass::kPeriodic,
        SeriesClass::kBursts, SeriesClass::kNoise}) {
    int right = 0;
    std::map<std::string_view, int> named;
    for (std::uint64_t seed = 0; seed < kPatternSeeds; ++seed) {
      SeriesMaker make(420'000 + seed);
      const std::vector<double> values = make_pattern(pattern, make);
      const SeriesShape shape = find_shape(values, quantum_of(pattern, values));
      right += shape.type == pattern ? 1 : 0;
      ++named[series_class_name(shape.type)];
    }
    EXPECT_GE(right, kRightOnes) << series_class_name(pattern) << ": "
                                 << ::testing::PrintToString(named);
  }
}

TEST(FindDuplicates, ADuplicateIsFoundAndALookalikeIsNone) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < kPatternSeeds; ++seed) {
    SeriesMaker make(430'000 + seed);
    const std::vector<double> one = make.noise(NoiseKind::kAlike, kShapeColumns);
    std::vector<double> other(one), alike(one);
    for (double& value : other) value = 40 - 3 * value + 0.01 * make.normal();
    for (double& value : alike) value += 0.2 * make.normal();
    other.front() = kHole;  // a rate begins one point later
    const std::vector<Sketch> sketches = {make_sketch(one), Sketch(), make_sketch(alike),
                                          make_sketch(other)};
    const auto found = find_duplicates(sketches);
    right += !found[0] && !found[1] && !found[2] && found[3] == std::size_t{0} ? 1 : 0;
  }
  EXPECT_GE(right, kRightOnes);
}

TEST(FindDuplicates, NeedEnoughColumnsOfBoth) {
  SeriesMaker make(1);
  std::vector<double> left(kShapeColumns, kHole), right(kShapeColumns, kHole);
  for (std::size_t i = 0; i < kShapeColumns; ++i) {
    const double value = make.normal();
    if (i < 400) left[i] = value;
    if (i >= 300) right[i] = value;
  }
  const std::vector<Sketch> sketches = {make_sketch(left), make_sketch(right)};
  EXPECT_FALSE(find_duplicates(sketches)[1]) << "100 of 600 columns: 22 of the sketch";
  EXPECT_EQ(make_sketch(std::vector<double>(20, 1)).values.size(), kSketchColumns);
}

TEST(FindShape, ConstantIsWhatHardlyMoves) {
  EXPECT_EQ(find_shape(std::vector<double>(100, 0.1), 0).type, SeriesClass::kConstant);
  std::vector<double> flag(100, 0);
  std::fill(flag.begin() + 50, flag.end(), 1);
  EXPECT_EQ(find_shape(flag, 1).type, SeriesClass::kSteps) << "one quantum, from off to on";
  EXPECT_EQ(find_shape(std::vector<double>(15, 1), 0).type, SeriesClass::kFew);
  EXPECT_EQ(find_shape({}, 0).type, SeriesClass::kFew);
  std::vector<double> rare(400, 0);
  rare[200] = rare[300] = rare[350] = 9;
  EXPECT_EQ(find_shape(rare, 9).type, SeriesClass::kBursts);
}

TEST(FindShape, PlacesAreColumnsWhereSomeAreEmpty) {
  std::vector<double> columns(900, kHole);
  SeriesMaker make(3);
  for (std::size_t i = 0; i < columns.size(); i += 3)
    columns[i] = make.normal() + (i < 450 ? 0 : 9);
  const SeriesShape shape = find_shape(columns, 0);
  ASSERT_EQ(shape.jumps.jumps.size(), 1U);
  EXPECT_EQ(shape.jumps.jumps[0].at, 450U);
  EXPECT_EQ(shape.jumps.jumps[0].length, 450U);
  EXPECT_EQ(shape.jumps.jumps[0].reach, 3U) << "it may have been in the empty columns before";
}

TEST(FindShape, SaysHowMuchATrendChangesAndHowLongAPeriodIs) {
  std::vector<double> ramp(600, kHole), wave(600, kHole);
  SeriesMaker make(4);
  for (std::size_t i = 0; i < ramp.size(); i += 2) {
    ramp[i] = 0.1 * static_cast<double>(i) + 0.1 * make.normal();
    wave[i] = i % 24 < 6 ? 5 : make.normal();
  }
  EXPECT_NEAR(find_shape(ramp, 0).change, 59.8, 0.5);
  const SeriesShape shape = find_shape(wave, 0);
  EXPECT_EQ(shape.type, SeriesClass::kPeriodic);
  EXPECT_NEAR(shape.period, 24, 1);
}

TEST(SeriesShape, ALevelThatChangesForGoodIsNoConstant) {
  std::vector<double> values(200, 64), flicker(200, 100);
  for (std::size_t i = 100; i < 200; ++i) values[i] = 63;
  for (std::size_t i = 0; i < 200; i += 3) flicker[i] = 101;
  EXPECT_EQ(find_shape(values, 1).type, SeriesClass::kSteps);
  EXPECT_EQ(find_shape(flicker, 1).type, SeriesClass::kConstant);
}

TEST(LeastDifference, IsThatOfThePointsScale) {
  EXPECT_DOUBLE_EQ(least_difference({61, 62, 61, 64}), 1);
  EXPECT_EQ(least_difference({5, 5, 5}), 0);
  EXPECT_EQ(least_difference({}), 0);
}

TEST(RankCorrelation, IsOfRanksOverColumnsThatBothHave) {
  std::vector<double> a, b;
  for (int i = 0; i < 40; ++i) {
    a.push_back(i);
    b.push_back(std::exp(-i));
  }
  a[7] = b[9] = kHole;
  EXPECT_NEAR(*rank_correlation(a, b), -1, 1e-12);
  EXPECT_FALSE(rank_correlation(a, std::vector<double>(40, 2))) << "a constant";
  EXPECT_FALSE(rank_correlation(std::span(a).first(12), b)) << "too few";
}

}  // namespace
}  // namespace corral::analyze
