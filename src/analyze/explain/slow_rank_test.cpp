#include "analyze/explain/slow_rank.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace corral::analyze {
namespace {

UtcTime at(double second) { return utc_time(static_cast<std::int64_t>(second * 1e9)); }

// `late(rank, step)`: seconds after the begin of a step of 100 ms at which a rank enters.
using Late = std::function<double(int rank, int step)>;

struct Training {
  Late late;
  int ranks = 2;
  int steps = 40;
  std::string inner = "backward";
  codec::PhaseKind kind = codec::PhaseKind::kCompute;
  std::string host = "node";      // rank 0 is there
  std::string other = "node";     // and the other ranks here
  std::optional<int> lacks = {};  // a step that rank 1 did not record
  double jitter = 0;              // by which rank 1 begins later and earlier in turn
  double ahead = 0;               // by which the clock of `other` is
  HostClocks::ByHost clocks = {};
};

// Measured every second.
HostClock clock_of(double offset, double error) {
  std::vector<ClockPoint> points;
  for (int second = 0; second <= 10; ++second)
    points.push_back(
        {.at = at(second), .offset = nanos_of_seconds(offset), .error = nanos_of_seconds(error)});
  return HostClock(std::move(points));
}

std::optional<SlowRank> find(const Training& run) {
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
      const double begin = 1 + step * 0.1 + jitter + (rank == 0 ? 0 : run.ahead);
      add(rank, "step", codec::PhaseKind::kCompute, begin, begin + 0.1);
      add(rank, run.inner, run.kind, begin + run.late(rank, step), begin + 0.095);
    }
  }
  timeline.arrange(at(1000));
  timeline.set_clocks(HostClocks(run.host, run.clocks));
  const Window window{.from = at(0), .to = at(10)};
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

TEST(SlowRank, IsFoundOnAnotherHostByMeasuredClocks) {
  // By the clocks rank 1 is early.
  Training run{.late = of_one, .other = "elsewhere", .ahead = -0.045};
  run.clocks.emplace("node", clock_of(1, 0.002));
  EXPECT_FALSE(find(run)) << "one of the clocks is not known";
  run.clocks.emplace("elsewhere", clock_of(1.045, 0.003));
  const auto found = find(run);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
  EXPECT_NEAR(found->late_s, 0.03, 1e-6);
  EXPECT_EQ(found->clock_error, std::chrono::microseconds(6100)) << "twice the worse one's";
  EXPECT_EQ(
      found->text,
      "Rank 1 is late: it enters its backward pass 30 ms (± 6.1 ms by the hosts' clocks) after "
      "the first rank, 30 % of a step.");
}

TEST(SlowRank, IsNoneIfTheClocksMayHaveMadeIt) {
  Training run{.late = of_one, .other = "elsewhere"};
  run.clocks.emplace("node", clock_of(0, 0.004));
  run.clocks.emplace("elsewhere", clock_of(0, 0.0049));
  EXPECT_TRUE(find(run)) << "30 ms are more than three times 9.9 ms";
  run.clocks.insert_or_assign("elsewhere", clock_of(0, 0.0051));
  EXPECT_FALSE(find(run));
  EXPECT_EQ(find({.late = of_one, .ranks = 3, .host = "elsewhere", .clocks = run.clocks})
                .value()
                .clock_error,
            Nanos(0))
      << "ranks 1 and 2 share a clock";
}

TEST(SlowRank, HostsWithoutAClockAreNamedWhereThereAreOthers) {
  const auto without = [](const Training& run) {
    std::vector<LaneLeaves> lanes(2);
    lanes[0].lane = run.host + "/rank0/1/MainThread";
    lanes[1].lane = run.other + "/rank1/1/MainThread";
    for (LaneLeaves& lane : lanes) lane.trains = true;
    Timeline timeline;
    timeline.set_clocks(HostClocks(run.host, run.clocks));
    return hosts_without_clock(timeline, lanes);
  };
  Training run{.late = of_one};
  EXPECT_TRUE(without(run).empty());
  run.other = "elsewhere";
  EXPECT_EQ(without(run), (std::vector<std::string>{"elsewhere", "node"}));
  run.clocks.emplace("node", clock_of(0, 0.001));
  EXPECT_EQ(without(run), std::vector<std::string>{"elsewhere"});
}

TEST(SlowRank, StepsThatDoNotMeetAreNotCompared) {
  EXPECT_EQ(find({.late = of_one, .lacks = 30}).value().steps, 30);
  EXPECT_FALSE(find({.late = of_one, .lacks = 5}));
  EXPECT_FALSE(find({.late = of_one, .lacks = 5, .jitter = 0.001})) << "its neighbours overlap";
}

}  // namespace
}  // namespace corral::analyze
