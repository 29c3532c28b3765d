#include "analyze/epochs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "query/series/test_memory_view.h"

namespace corral::analyze {
namespace {

using Found = std::vector<Epoch>;

TEST(EpochName, SaysWhatAnEpochIsCalled) {
  EXPECT_TRUE(epoch_name("epoch").is_epoch);
  EXPECT_FALSE(epoch_name("epoch").index);
  EXPECT_TRUE(epoch_name("Epoch").is_epoch);
  EXPECT_EQ(epoch_name("Epoch 3").index, 3);
  EXPECT_EQ(epoch_name("epoch_12").index, 12);
  EXPECT_EQ(epoch_name("epoch7").index, 7);
  for (const auto* name : {"", "epo", "epochs", "epoch_time", "epoch -1", "train_epoch", "epoch "})
    EXPECT_FALSE(epoch_name(name).is_epoch) << name;
}

TEST(EpochsOfPhases, InOrderOfTimeWithTheirNumbers) {
  const auto got = epochs_of_phases({{.lane = "h/1/main", .start = 20, .end = 30},
                                     {.lane = "h/1/main", .start = 0, .end = 9},
                                     {.lane = "h/1/main", .start = 10, .end = 20},
                                     {.lane = "h/1/main", .start = 30}});
  EXPECT_EQ(got.epochs, (Found{{0, 0, 9}, {1, 10, 20}, {2, 20, 30}, {3, 30, {}}}));
  EXPECT_FALSE(got.more);
  const auto named = epochs_of_phases({{.lane = "a", .start = 5, .end = 6, .index = 4},
                                       {.lane = "a", .start = 7, .end = 8},
                                       {.lane = "a", .start = 9, .end = 10, .index = 9}});
  EXPECT_EQ(named.epochs, (Found{{4, 5, 6}, {5, 7, 8}, {9, 9, 10}}));
  EXPECT_TRUE(epochs_of_phases({}).epochs.empty());
}

TEST(EpochsOfPhases, OfTheLowestRankAlone) {
  const auto got = epochs_of_phases({{.lane = "h/77/main", .start = 0, .end = 5},
                                     {.lane = "h/rank10/1/main", .start = 1, .end = 5},
                                     {.lane = "h/rank2/2/main", .start = 2, .end = 6},
                                     {.lane = "h/rank2/2/main", .start = 6, .end = 9}});
  EXPECT_EQ(got.epochs, (Found{{0, 2, 6}, {1, 6, 9}}));
}

TEST(EpochsOfPhases, OnesInsideAnotherOrBesideItAreTheSame) {
  const auto got = epochs_of_phases({{.lane = "h/1/main", .start = 0, .end = 10},
                                     {.lane = "h/1/main", .start = 2, .end = 4},
                                     {.lane = "h/2/main", .start = 1, .end = 11},
                                     {.lane = "h/1/main", .start = 12},
                                     {.lane = "h/2/main", .start = 13}});
  EXPECT_EQ(got.epochs, (Found{{0, 0, 10}, {1, 12, {}}}));
}

TEST(EpochsOfPhases, AKilledOneDoesNotHideThoseOfTheNextProcess) {
  const auto got = epochs_of_phases({{.lane = "h/1/main", .start = 0, .index = 3},
                                     {.lane = "h/2/main", .start = 5, .end = 8, .index = 4}});
  EXPECT_EQ(got.epochs, (Found{{3, 0, {}}, {4, 5, 8}}));
}

// ---- of a metric
constexpr SeriesId kSeries{1};

Found of_metric(const std::vector<std::pair<std::int64_t, double>>& points,
                std::int64_t start = 0) {
  query::testing::MemoryView view;
  query::testing::Points all;
  for (const auto& [time, value] : points) {
    all.times.push_back(time);
    all.values.push_back(value);
  }
  view.add(kSeries, 1, all);
  view.finish();
  const auto got = epochs_of_metric(view, kSeries, start);
  EXPECT_TRUE(got) << got.error().message;
  return got ? got->epochs : Found{};
}

TEST(EpochsOfAMetric, LoggedOnceAtTheEndOrWithEveryStep) {
  const Found wanted{{0, 3, 10}, {1, 10, 20}, {2, 20, 31}};
  EXPECT_EQ(of_metric({{10, 0}, {20, 1}, {31, 2}}, 3), wanted);
  EXPECT_EQ(of_metric({{5, 0}, {10, 0}, {11, 1}, {20, 1}, {30, 2}, {31, 2}}, 3), wanted);
}

TEST(EpochsOfAMetric, FractionsCountWhatIsDone) {
  EXPECT_EQ(of_metric({{1, 0}, {2, 0.5}, {4, 1}, {6, 1.5}, {8, 2}, {9, 2.2}}),
            (Found{{0, 0, 4}, {1, 4, 8}, {2, 8, 9}}));
}

TEST(EpochsOfAMetric, PassesOverWhatIsNoEpoch) {
  EXPECT_EQ(of_metric({{1, NAN}, {2, -3}, {3, 1e300}, {4, 5}}), (Found{{5, 0, 4}}));
  EXPECT_TRUE(of_metric({}).empty());
}

TEST(EpochsOfAMetric, OpensOnlyWhereAnEpochChanges) {
  query::testing::MemoryView view;
  query::testing::Points all;
  constexpr std::int64_t kPoints = 64 * 8192;
  for (std::int64_t i = 0; i < kPoints; ++i) {
    all.times.push_back(i);
    all.values.push_back(static_cast<double>(i / 200'000));
  }
  view.add(kSeries, 1, all);
  view.finish();
  const auto got = epochs_of_metric(view, kSeries, 0);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->epochs,
            (Found{{0, 0, 199'999}, {1, 199'999, 399'999}, {2, 399'999, kPoints - 1}}));
  EXPECT_LE(view.blocks_read, 4U);
}

TEST(EpochsOfAMetric, StopsCounting) {
  query::testing::MemoryView view;
  query::testing::Points all;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(kMostEpochs) + 1000; ++i) {
    all.times.push_back(i);
    all.values.push_back(static_cast<double>(i));
  }
  view.add(kSeries, 1, all);
  view.finish();
  const auto got = epochs_of_metric(view, kSeries, 0);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->epochs.size(), kMostEpochs);
  EXPECT_TRUE(got->more);
}

TEST(LaneRank, IsTheNumberOfThePartThatNamesOne) {
  EXPECT_EQ(lane_rank("node7/rank3/42/MainThread"), 3);
  EXPECT_EQ(lane_rank("node7/42/MainThread"), std::nullopt);
  EXPECT_EQ(lane_rank("node7/rank/42/MainThread"), std::nullopt);
  EXPECT_EQ(lane_rank(""), std::nullopt);
}

}  // namespace
}  // namespace corral::analyze
