#include "analyze/explain/water_filling.h"

#include <gtest/gtest.h>

#include "analyze/split_mix.h"

namespace corral::analyze {
namespace {

using Use = std::vector<double>;

const std::vector<DemandPiece> kPieces = {{.fraction = 0.2, .exact = 50, .variable = 0},
                                          {.fraction = 0.5, .exact = 0, .variable = 1},
                                          {.fraction = 0.3, .exact = 50, .variable = 2}};

double sum_of(std::span<const DemandPiece> pieces, const PlacedUse& placed) {
  double sum = placed.unplaced;
  for (std::size_t i = 0; i < pieces.size(); ++i) sum += pieces[i].fraction * placed.use[i];
  return sum;
}

void expect_near(const Use& found, const Use& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-9) << i;
}

TEST(WaterFilling, MeetsExactDemandFirstThenThePieceWithLeastRoom) {
  const PlacedUse placed = place_use(kPieces, 60, 100);
  expect_near(placed.use, {50, 40, 100});
  EXPECT_NEAR(placed.unplaced, 0, 1e-12);
  EXPECT_NEAR(exact_share(placed.use[2], kPieces[2], 50), 50, 1e-9);
  EXPECT_NEAR(variable_share(placed.use[2], kPieces[2], 1), 25, 1e-9) << "one of two";
}

TEST(WaterFilling, LowersExactDemandThatTheUseDoesNotMeet) {
  const PlacedUse placed = place_use(kPieces, 10, 100);
  expect_near(placed.use, {20, 0, 20});
  EXPECT_NEAR(placed.unplaced, 0, 1e-12);
  EXPECT_NEAR(exact_share(placed.use[0], kPieces[0], 25), 10, 1e-9);
}

TEST(WaterFilling, SaysWhatHasNoRoom) {
  const PlacedUse placed = place_use(kPieces, 110, 100);
  expect_near(placed.use, {100, 100, 100});
  EXPECT_NEAR(placed.unplaced, 10, 1e-9);
}

TEST(WaterFilling, SpreadsFlatWhatNobodyDemands) {
  const std::vector<DemandPiece> idle = {{.fraction = 0.25}, {.fraction = 0.75}};
  expect_near(place_use(idle, 3, kNoCapacity).use, {3, 3});
  expect_near(place_use({}, 3, kNoCapacity).use, {});
  EXPECT_EQ(place_use({}, 3, kNoCapacity).unplaced, 3);
}

TEST(WaterFilling, KeepsTheMeanAndTheCapacityWhateverTheDemands) {
  SplitMix random(7);
  const auto uniform = [&] { return static_cast<double>(random.below(1'000'000)) / 1e6; };
  for (int round = 0; round < 2000; ++round) {
    std::vector<DemandPiece> pieces(1 + random.below(6));
    double all = 0;
    for (DemandPiece& piece : pieces) all += piece.fraction = uniform() + 1e-6;
    for (DemandPiece& piece : pieces) {
      piece.fraction /= all;
      if (random.below(2) == 0) piece.exact = 120 * uniform();
      if (random.below(2) == 0) piece.variable = uniform();
    }
    const double mean = 130 * uniform();
    const double capacity = random.below(3) == 0 ? kNoCapacity : 100;
    const PlacedUse placed = place_use(pieces, mean, capacity);
    ASSERT_NEAR(sum_of(pieces, placed), mean, 1e-9 * mean) << round;
    for (const double use : placed.use) ASSERT_LE(use, capacity * (1 + 1e-9));
    if (mean < 100) {
      ASSERT_NEAR(placed.unplaced, 0, 1e-9) << round;
    }
  }
}

}  // namespace
}  // namespace corral::analyze
