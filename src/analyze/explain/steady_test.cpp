#include "analyze/explain/steady.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analyze/explain/change_points.h"

namespace corral::analyze {
namespace {

UtcTime at(double second) { return utc_time(static_cast<std::int64_t>(second * 1e9)); }

// Noise of 3 % around 0.1 s.
class Steps {
 public:
  explicit Steps(std::uint64_t seed) : random_(seed) {}
  Steps& add(std::size_t count, double length) {
    std::normal_distribution<double> noise(length, 0.03 * length);
    for (std::size_t i = 0; i < count; ++i) lengths_.push_back(noise(random_));
    return *this;
  }
  // Each deviates as the one before, for the most part: a neighbour takes the CPU for a while.
  Steps& add_resembling(std::size_t count, double length) {
    constexpr double kSame = 0.8;
    std::normal_distribution<double> noise(0, 0.03 * length * std::sqrt(1 - kSame * kSame));
    double deviation = 0;
    for (std::size_t i = 0; i < count; ++i) {
      deviation = kSame * deviation + noise(random_);
      lengths_.push_back(length + deviation);
    }
    return *this;
  }
  // Most are equal: a clock that ticks.
  Steps& add_ticks(std::size_t count, double length) {
    std::exponential_distribution<double> late(100 / length);
    for (std::size_t i = 0; i < count; ++i)
      lengths_.push_back(std::round((length + late(random_)) / length * 100) * length / 100);
    return *this;
  }
  Steps& outliers(double share) {
    std::bernoulli_distribution is(share);
    for (double& length : lengths_)
      if (is(random_)) length *= 20;
    return *this;
  }
  [[nodiscard]] std::size_t steady() const { return find_steady_step(lengths_); }
  [[nodiscard]] const std::vector<double>& lengths() const { return lengths_; }

 private:
  std::mt19937_64 random_;
  std::vector<double> lengths_;
};

constexpr std::uint64_t kSeeds = 60;
constexpr int kEnough = 57;  // 95 %
// Returns the number of kSeeds seeds whose cut lies within [least, most].
int found(Steps (*make)(std::uint64_t), std::size_t least, std::size_t most) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::size_t cut = make(seed).steady();
    right += cut >= least && cut <= most ? 1 : 0;
  }
  return right;
}

TEST(Steady, ARunWithoutWarmUpIsSteadyFromTheFirstStep) {
  EXPECT_GE(found([](std::uint64_t seed) { return std::move(Steps(seed).add(2000, 0.1)); }, 0, 0),
            kEnough);
}

TEST(Steady, AWarmUpIsCut) {
  const auto make = [](std::uint64_t seed) {
    return std::move(Steps(seed).add(5, 2).add(100, 0.15).add(900, 0.1));
  };
  EXPECT_GE(found(make, 103, 107), kEnough);
}

TEST(Steady, NeighboursThatResembleEachOtherAreNoChange) {
  const auto make = [](std::uint64_t seed) {
    return std::move(Steps(seed).add(6, 0.3).add_resembling(400, 0.1));
  };
  EXPECT_GE(found(make, 5, 7), kEnough);
}

TEST(Steady, EqualNeighboursAreNoChange) {
  const auto make = [](std::uint64_t seed) {
    return std::move(Steps(seed).add(6, 0.3).add_ticks(400, 0.1));
  };
  EXPECT_GE(found(make, 5, 7), kEnough);
}

TEST(Steady, ADriftToTheEndIsNoSteadyState) {
  for (const std::size_t steps : {80, 160, 200, 1000}) {
    Steps ramp(steps);
    for (std::size_t i = 0; i < steps; ++i)
      ramp.add(1, 0.1 + 0.1 * static_cast<double>(i) / static_cast<double>(steps));
    EXPECT_EQ(ramp.steady(), steps);
  }
}

TEST(Steady, AnEarlySlowdownIsCutToo) {
  const auto make = [](std::uint64_t seed) {
    return std::move(Steps(seed).add(200, 0.1).add(800, 0.12));
  };
  EXPECT_GE(found(make, 197, 203), kEnough);
}

TEST(Steady, AChangeNearTheEndIsNoSteadyState) {
  const auto make = [](std::uint64_t seed) {
    return std::move(Steps(seed).add(900, 0.1).add(100, 0.13));
  };
  EXPECT_GE(found(make, 1000, 1000), kEnough);
}

TEST(Steady, RareStallsAreNoChange) {
  const auto make = [](std::uint64_t seed) {
    return std::move(Steps(seed).add(50, 0.3).add(1950, 0.1).outliers(0.01));
  };
  EXPECT_GE(found(make, 45, 55), kEnough);
}

// As an H100 showed: work is started in 1 ms a step, and waited for in each tenth.
TEST(Steady, StepsThatOnlyStartWorkAreTakenInBlocks) {
  const auto make = [](std::uint64_t seed, double later) {
    std::vector<double> lengths;
    Steps noise(seed);
    noise.add(1000, 1.0);
    double started = 0;  // since the last wait, which is so much shorter
    for (std::size_t i = 0; i < 1000; ++i) {
      const double early = noise.lengths()[i] * (i < 500 ? 1.2e-3 : 1e-3);
      const double wait = 0.13 * (i < 500 ? later : 1) - started;
      lengths.push_back(i % 10 == 9 ? wait : early);
      started = i % 10 == 9 ? 0 : started + early;
    }
    return find_steady_step(lengths);
  };
  std::vector<double> warm(640, 0.001);
  for (std::size_t i = 9; i < warm.size(); i += 10) warm[i] = 0.13;
  EXPECT_EQ(find_steady_step(warm), 0U);
  EXPECT_EQ(find_steady_step(std::span(warm).first(200)), 0U) << "twenty waits";
  warm[0] += 5;
  EXPECT_EQ(find_steady_step(warm), 10U) << "the first block";
  EXPECT_EQ(find_steady_step(std::vector<double>(100, 0.0)), 0U);
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    EXPECT_EQ(make(seed, 1), 0U) << "how long it takes to start it means nothing";
    EXPECT_NEAR(static_cast<double>(make(seed, 2)), 500, 32);
  }
  std::vector<double> lengths(60, 0.001);
  lengths[29] = lengths[59] = 0.13;
  EXPECT_EQ(find_steady_step(lengths), 60U) << "two waits prove nothing";
}

TEST(Steady, ManyStepsAreBinned) {
  const std::size_t cut = Steps(1).add(10'000, 0.2).add(90'000, 0.1).steady();
  EXPECT_GE(cut, 10'000U);
  EXPECT_LE(cut, 10'100U);
}

TEST(FindMeanChanges, AreExact) {
  const std::vector<double> values{1, 1, 1, 5, 5, 5, 5, 2, 2, 2};
  EXPECT_EQ(find_mean_changes(values, 0.5), (std::vector<std::size_t>{3, 7}));
  EXPECT_EQ(find_mean_changes(values, 1000), std::vector<std::size_t>());
  EXPECT_EQ(find_mean_changes(std::vector<double>{4}, 1), std::vector<std::size_t>());
  EXPECT_EQ(find_mean_changes({}, 1), std::vector<std::size_t>());
}

// Against all ways to cut a few values.
TEST(FindMeanChanges, NoOtherCutIsBetter) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> value(0, 2);
  const auto cost = [](std::span<const double> values) {
    double sum = 0, squares = 0;
    for (const double v : values) sum += v;
    for (const double v : values)
      squares += (v - sum / static_cast<double>(values.size())) *
                 (v - sum / static_cast<double>(values.size()));
    return squares;
  };
  for (int round = 0; round < 100; ++round) {
    std::vector<double> values(10);
    for (double& v : values) v = value(random);
    const auto total = [&](std::uint64_t cuts) {  // bit i: a segment begins at i + 1
      double sum = 0;
      std::size_t begin = 0;
      for (std::size_t i = 1; i <= values.size(); ++i) {
        if (i < values.size() && (cuts >> (i - 1) & 1U) == 0) continue;
        sum += cost(std::span(values).subspan(begin, i - begin)) + 3;
        begin = i;
      }
      return sum;
    };
    std::uint64_t found = 0;
    for (const std::size_t change : find_mean_changes(values, 3)) found |= 1U << (change - 1);
    for (std::uint64_t cuts = 0; cuts < 512; ++cuts) EXPECT_LE(total(found), total(cuts) + 1e-9);
  }
}

// ---- of a run

Timeline make_run(std::span<const std::vector<double>> ranks, bool epochs = false) {
  Timeline timeline;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string lane = "node/rank" + std::to_string(rank) + "/7/MainThread";
    double time = 1;
    for (std::size_t i = 0; i < ranks[rank].size(); ++i) {
      if (epochs && i % 10 == 0)
        timeline.add({.begin = at(time),
                      .end = at(time + 1),
                      .name = "epoch",
                      .type = "epoch",
                      .lane = lane,
                      .kind = {}});
      timeline.add({.begin = at(time),
                    .end = at(time + ranks[rank][i]),
                    .name = "step",
                    .type = "step",
                    .lane = lane,
                    .kind = {}});
      time += ranks[rank][i];
    }
  }
  timeline.arrange(at(1000));
  return timeline;
}
constexpr std::array<std::size_t, 2> kLanes{0, 1};
const Window kRun{.from = at(0), .to = at(1000)};

TEST(SteadyPart, TheSlowestRankToWarmUpCutsAll) {
  const std::array ranks{Steps(1).add(20, 0.5).add(300, 0.1).lengths(),
                         Steps(2).add(50, 0.5).add(300, 0.1).lengths()};
  const SteadyPart part = find_steady_part(make_run(ranks), kLanes, kRun);
  EXPECT_TRUE(part.steady) << part.reason;
  EXPECT_NEAR(seconds(part.window.from - at(0)), 1 + 50 * 0.5, 1);
  EXPECT_NEAR(part.mean_s, 0.1, 0.002);
  EXPECT_NEAR(part.deviation_s, 0.003, 0.001);
  EXPECT_NEAR(static_cast<double>(part.left_out), 175, 15) << "the other rank's steps meanwhile";
}

TEST(SteadyPart, OfFewStepsTheFirstEpochIsLeftOut) {
  const std::array ranks{Steps(1).add(30, 0.1).lengths()};
  const SteadyPart part =
      find_steady_part(make_run(ranks, true), std::array<std::size_t, 1>{0}, kRun);
  EXPECT_TRUE(part.steady);
  EXPECT_EQ(part.left_out, 10);
  EXPECT_EQ(part.steps, 20);
}

TEST(SteadyPart, WithoutStepsItIsOfEpochs) {
  const auto of_epochs = [](int count) {
    Timeline timeline;
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("Epoch {}", i);
      timeline.add({.begin = at(10 * i),
                    .end = at(10 * i + (i == 0 ? 9 : 5)),
                    .name = name,
                    .type = "Epoch",
                    .lane = "node/7/MainThread",
                    .kind = {}});
    }
    timeline.arrange(at(1000));
    return find_steady_part(timeline, std::array<std::size_t, 1>{0}, kRun);
  };
  const SteadyPart few = of_epochs(5);
  EXPECT_TRUE(few.steady) << few.reason;
  EXPECT_EQ(few.unit, Unit::kEpoch);
  EXPECT_EQ(few.window.from, at(10));
  EXPECT_EQ(few.steps, 4);
  EXPECT_EQ(few.left_out, 1);
  EXPECT_DOUBLE_EQ(few.mean_s, 5);
  EXPECT_EQ(of_epochs(1).reason, "it has fewer than two epochs");
  EXPECT_EQ(of_epochs(90).steps, 89) << "the first one is slower";
}

TEST(SteadyPart, AnEpochInAnEpochAndAnOpenOneDoNotCount) {
  Timeline timeline;
  const auto add = [&](const std::string& name, double begin, std::optional<UtcTime> end) {
    timeline.add({.begin = at(begin),
                  .end = end,
                  .name = name,
                  .type = name,
                  .lane = "node/7/MainThread",
                  .kind = {}});
  };
  for (int i = 0; i < 2; ++i) {
    add(fmt::format("epoch {}", i), 10 * i, at(10 * i + 9));
    add("epoch", 10 * i + 1, at(10 * i + 8));
  }
  add("epoch 2", 20, {});
  timeline.arrange(at(25));
  const std::array<std::size_t, 1> lane{0};
  const SteadyPart part = find_steady_part(timeline, lane, {.from = at(0), .to = at(25)});
  EXPECT_EQ(part.window.from, at(10));
  EXPECT_EQ(part.window.to, at(19));
  EXPECT_EQ(part.steps, 1);
  const SteadyPart late = find_steady_part(timeline, lane, {.from = at(20), .to = at(25)});
  EXPECT_EQ(late.reason, "no epoch has ended");
}

TEST(SteadyPart, SaysWhyThereIsNone) {
  const std::array few{Steps(1).add(30, 0.1).lengths()};
  EXPECT_NE(
      find_steady_part(make_run(few), std::array<std::size_t, 1>{0}, kRun).reason.find("fewer"),
      std::string::npos);
  const std::array late{Steps(1).add(90, 0.1).add(30, 0.2).lengths()};
  const SteadyPart part = find_steady_part(make_run(late), std::array<std::size_t, 1>{0}, kRun);
  EXPECT_FALSE(part.steady);
  EXPECT_EQ(part.window.from, at(1));
  EXPECT_EQ(find_steady_part(make_run({}), {}, kRun).reason,
            "neither steps nor epochs were recorded");
}

}  // namespace
}  // namespace corral::analyze
