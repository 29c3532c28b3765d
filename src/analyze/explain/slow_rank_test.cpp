#include "analyze/explain/slow_rank.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <functional>

namespace corral::analyze {
namespace {

UtcTime at(double second) { return utc_time(static_cast<std::int64_t>(second * 1e9)); }

// `late(rank, step)`: seconds after the begin of a step of 100 ms at which a rank enters.
using Late = std::function<double(int rank, int step)>;

struct Run {
  Late late;
  int ranks = 2;
  int steps = 40;
  std::string inner = "backward";
  codec::PhaseKind kind = codec::PhaseKind::kCompute;
  std::string host = "node";      // rank 0 is there
  std::string other = "node";     // and the other ranks here
  std::optional<int> lacks = {};  // a step that rank 1 did not record
  double jitter = 0;              // by which rank 1 begins later and earlier in turn
};

std::optional<SlowRank> find(const Run& run) {
  Timeline timeline;
  const auto add = [&](int rank, std::string_view name, codec::PhaseKind kind, double from,
                       double to) {
    const std::string lane =
        fmt::format("{}/rank{}/{}/MainThread", rank == 0 ? run.host : run.other, rank, 100 + rank);
    timeline.add(
        {.begin = at(from), .end = at(to), .name = name, .type = name, .lane = lane, .kind = kind});
  };
  for (int rank = 0; rank < run.ranks; ++rank) {
    for (int step = 0; step < run.steps; ++step) {
      if (rank == 1 && run.lacks == step) continue;
      const double jitter = rank == 1 ? run.jitter * (step % 2 == 0 ? 1 : -1) : 0;
      const double begin = 1 + step * 0.1 + jitter;
      add(rank, "step", codec::PhaseKind::kCompute, begin, begin + 0.1);
      add(rank, run.inner, run.kind, begin + run.late(rank, step), begin + 0.095);
    }
  }
  timeline.arrange(at(1000));
  const Window window{.from = at(0), .to = at(1000)};
  return find_slow_rank(timeline, find_leaves(timeline, window), window);
}

double of_one(int rank, int /*step*/) { return rank == 1 ? 0.04 : 0.01; }

TEST(SlowRank, IsTheOneThatEntersLateInMostSteps) {
  const auto found = find({.late = of_one, .ranks = 4});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->lane, "node/rank1/101/MainThread");
  EXPECT_NEAR(found->late_s, 0.03, 1e-6);
  EXPECT_NEAR(found->share, 0.3, 1e-4);
  EXPECT_EQ(found->steps, 40);
  EXPECT_EQ(found->text,
            "Rank 1 is late: it enters its backward pass 30 ms after the first rank, 30 % of a "
            "step.");
}

TEST(SlowRank, IsFoundByCallsBetweenRanksWhereThereIsNoBackwardPass) {
  const auto found = find({.late = of_one, .inner = "all_reduce", .kind = codec::PhaseKind::kComm});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->text,
            "Rank 1 is late: it comes to its first call between ranks 30 ms after the first rank, "
            "30 % of a step.");
}

TEST(SlowRank, IsNoneThatIsLateNowAndThenOrInTurnOrByLittle) {
  EXPECT_FALSE(find({.late = [](int rank, int step) { return step % 3 == rank ? 0.05 : 0.01; }}));
  EXPECT_FALSE(find({.late = [](int rank, int step) { return step % 2 == rank ? 0.05 : 0.01; }}));
  EXPECT_FALSE(find({.late = [](int rank, int) { return rank == 1 ? 0.0149 : 0.01; }}));
  EXPECT_TRUE(find({.late = [](int rank, int) { return rank == 1 ? 0.0152 : 0.01; }}));
}

TEST(SlowRank, IsNotKnownOfOtherClocksFewStepsAndOtherPhases) {
  EXPECT_FALSE(find({.late = of_one, .other = "elsewhere"}));
  EXPECT_EQ(find({.late = of_one, .ranks = 3, .host = "elsewhere"}).value().rank, 1)
      << "ranks 1 and 2 share a clock";
  EXPECT_FALSE(find({.late = of_one, .steps = 9}));
  EXPECT_FALSE(find({.late = of_one, .inner = "forward"}));
  EXPECT_FALSE(find({.late = of_one, .ranks = 1}));
}

TEST(SlowRank, StepsThatDoNotMeetAreNotCompared) {
  EXPECT_EQ(find({.late = of_one, .lacks = 30}).value().steps, 30);
  EXPECT_FALSE(find({.late = of_one, .lacks = 5}));
  EXPECT_FALSE(find({.late = of_one, .lacks = 5, .jitter = 0.001})) << "its neighbours overlap";
}

}  // namespace
}  // namespace corral::analyze
