#include "analyze/explain/typical.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace corral::analyze {
namespace {

UtcTime at(double second) { return utc_time(static_cast<std::int64_t>(second * 1e9)); }

// Epochs of two leaves, "data wait" and "work", with noise of 1 %.
class Training {
 public:
  explicit Training(std::uint64_t seed) : random_(seed) {}
  Training& add(std::size_t epochs, double wait, double work) {
    for (std::size_t i = 0; i < epochs; ++i) add_one(wait, work);
    return *this;
  }
  Training& add_one(double wait, double work) {
    std::normal_distribution<double> noise(1, 0.01);
    wait *= noise(random_);
    work *= noise(random_);
    const auto phase = [&](double begin, double end, const char* name, const std::string& type) {
      timeline_.add({.begin = at(begin),
                     .end = at(end),
                     .name = name,
                     .type = type,
                     .lane = "n/1/m",
                     .kind = {}});
    };
    phase(time_, time_ + wait + work, "epoch", "epoch");
    epochs_.push_back({.index = std::ssize(epochs_),
                       .start = ns_of(at(time_)),
                       .end = ns_of(at(time_ + wait + work))});
    phase(time_, time_ + wait, "data wait", "epoch/data wait");
    phase(time_ + wait, time_ + wait + work, "work", "epoch/work");
    time_ += wait + work;
    return *this;
  }
  LaneEpochs epochs() {
    timeline_.arrange(at(time_));
    const Window all{.from = at(0), .to = at(time_)};
    return collect_epochs(timeline_, find_leaves(timeline_, all).at(0), all, epochs_, 1U << 16U);
  }

 private:
  std::mt19937_64 random_;
  Timeline timeline_;
  std::vector<Epoch> epochs_;
  double time_ = 1;
};

std::set<std::size_t> odd_ones(const TypicalEpochs& found) {
  std::set<std::size_t> odd;
  for (const OddEpoch& one : found.odd) odd.insert(one.epoch);
  return odd;
}

TEST(Typical, AnOddEpochIsNamedWithTheLeafThatDiffers) {
  const LaneEpochs lane = Training(1).add(57, 2, 8).add_one(5, 8).add(142, 2, 8).epochs();
  ASSERT_EQ(lane.epochs.size(), 200U);
  const TypicalEpochs found = find_typical(lane);
  ASSERT_EQ(odd_ones(found), std::set<std::size_t>{57});
  ASSERT_TRUE(found.odd[0].leaf);
  EXPECT_EQ(lane.leaves[*found.odd[0].leaf], "data wait");
  EXPECT_NEAR(found.odd[0].seconds, 5, 0.2);
  EXPECT_NEAR(found.odd[0].usual, 2, 0.05);
  ASSERT_EQ(found.regimes.size(), 1U);
  EXPECT_EQ(found.regimes[0].alike, 199U);
  EXPECT_NEAR(found.regimes[0].median_s, 10, 0.1);
  const Window typical = lane.epochs[found.regimes[0].typical.value()].window;
  EXPECT_NEAR(seconds(typical.length()), 10, 0.1);
}

TEST(Typical, ALastingChangeIsAnotherRegimeAndNotOdd) {
  const TypicalEpochs found = find_typical(Training(2).add(60, 2, 8).add(60, 2, 11).epochs());
  EXPECT_TRUE(found.odd.empty());
  ASSERT_EQ(found.regimes.size(), 2U);
  EXPECT_EQ(found.regimes[1].first, 60U);
  EXPECT_NEAR(found.regimes[1].median_s, 13, 0.2);
}

TEST(Typical, SlowFirstEpochsAndShortBurstsAreOddAndNoRegimes) {
  Training few(4);
  const TypicalEpochs ten = find_typical(few.add_one(20, 8).add(9, 2, 8).epochs());
  ASSERT_EQ(ten.regimes.size(), 1U);
  EXPECT_EQ(odd_ones(ten), std::set<std::size_t>{0});
  const TypicalEpochs burst =
      find_typical(Training(5).add(40, 2, 8).add(7, 6, 8).add(40, 2, 8).epochs());
  ASSERT_EQ(burst.regimes.size(), 1U);
  EXPECT_EQ(burst.odd.size(), 7U);
}

// Each epoch evaluates under a name of its own.
TEST(Typical, NumbersInNamesMakeNoDifference) {
  Timeline timeline;
  std::vector<Epoch> epochs;
  for (std::int64_t i = 0; i < 200; ++i) {
    const double begin = 1 + 10 * static_cast<double>(i);
    const std::string eval = "eval " + std::to_string(i);
    timeline.add({.begin = at(begin),
                  .end = at(begin + 10),
                  .name = "epoch",
                  .type = "epoch",
                  .lane = "n/1/m"});
    timeline.add({.begin = at(begin + 9),
                  .end = at(begin + 10),
                  .name = eval,
                  .type = "epoch/" + eval,
                  .lane = "n/1/m"});
    epochs.push_back({.index = i, .start = ns_of(at(begin)), .end = ns_of(at(begin + 10))});
  }
  const Window all{.from = at(0), .to = at(2001)};
  timeline.arrange(all.to);
  const LaneEpochs lane =
      collect_epochs(timeline, find_leaves(timeline, all).at(0), all, epochs, 100);
  EXPECT_EQ(lane.epochs.size(), 100U);
  EXPECT_EQ(lane.left_out, 100U);
  EXPECT_EQ(lane.leaves,
            (std::vector<std::string>{"training and rest", "eval", "other phases", "untracked"}));
  EXPECT_TRUE(find_typical(lane).odd.empty());
}

TEST(Typical, PiecesThatAreTooShortBelongToTheRegimeBefore) {
  const LaneEpochs lane =
      Training(8).add(40, 2, 8).add(7, 2, 18).add(7, 2, 28).add(40, 2, 8).epochs();
  const TypicalEpochs found = find_typical(lane);
  ASSERT_EQ(found.regimes.size(), 1U);
  EXPECT_EQ(found.odd.size(), 14U);
}

TEST(Typical, AChangeAmongManyEpochsIsPlacedWell) {
  const TypicalEpochs found =
      find_typical(Training(6).add(3001, 2, 8).add_one(5, 8).add(3000, 2, 11).epochs());
  ASSERT_EQ(found.regimes.size(), 2U);
  EXPECT_NEAR(static_cast<double>(found.regimes[1].first), 3002, 1);
  EXPECT_TRUE(odd_ones(found).contains(3001));
}

TEST(Typical, TheTypicalOneIsNearestToAllOthers) {
  const LaneEpochs lane = Training(7).add(50, 2, 8).epochs();
  const auto distance = [&](std::size_t from) {
    double sum = 0;
    for (const EpochTimes& epoch : lane.epochs)
      for (std::size_t leaf = 0; leaf < lane.leaves.size(); ++leaf)
        sum += std::abs(epoch.leaves[leaf] - lane.epochs[from].leaves[leaf]);
    return sum;
  };
  const TypicalEpochs found = find_typical(lane);
  ASSERT_TRUE(found.odd.empty());
  for (std::size_t other = 0; other < lane.epochs.size(); ++other)
    EXPECT_LE(distance(found.regimes.at(0).typical.value()), distance(other) + 1e-9);
}

TEST(Typical, FewEpochsHaveNoTypicalOne) {
  const TypicalEpochs found = find_typical(Training(3).add(6, 2, 8).add_one(20, 8).epochs());
  EXPECT_TRUE(found.odd.empty());
  ASSERT_FALSE(found.regimes.empty());
  EXPECT_FALSE(found.regimes[0].typical);
  EXPECT_TRUE(find_typical({}).regimes.empty());
}

TEST(Typical, PlantedOnesAreFoundAndFewOthers) {
  int planted = 0, found_right = 0, found_all = 0, null_odd = 0;
  std::mt19937_64 random(9);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Training training(seed);
    std::set<std::size_t> odd;
    for (std::size_t i = 0; i < 100; ++i) {
      const bool is_odd = random() % 33 == 0;
      if (is_odd) odd.insert(i);
      training.add_one(is_odd ? 2 + 1 + static_cast<double>(random() % 4) : 2, 8);
    }
    const std::set<std::size_t> found = odd_ones(find_typical(training.epochs()));
    planted += static_cast<int>(odd.size());
    found_all += static_cast<int>(found.size());
    for (const std::size_t epoch : found) found_right += odd.contains(epoch) ? 1 : 0;
    null_odd +=
        static_cast<int>(find_typical(Training(seed + 100).add(100, 2, 8).epochs()).odd.size());
  }
  const double f1 = 2.0 * found_right / (planted + found_all);
  EXPECT_GE(f1, 0.95);
  EXPECT_LE(null_odd, 40) << "1 % of 4,000";
}

}  // namespace
}  // namespace corral::analyze
