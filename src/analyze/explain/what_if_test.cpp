#include "analyze/explain/what_if.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/split_mix.h"

namespace corral::analyze {
namespace {

using codec::PhaseKind;

// Times in ms since some moment.
UtcTime at_ms(double ms) {
  return utc_time(1'700'000'000'000'000'000 + static_cast<std::int64_t>(ms * 1e6));
}

class Ranks {
 public:
  void add(int rank, const std::string& type, double begin, double end,
           PhaseKind kind = PhaseKind::kCompute) {
    timeline_.add({.begin = at_ms(begin),
                   .end = at_ms(end),
                   .name = type.substr(type.rfind('/') + 1),
                   .type = type,
                   .lane = fmt::format("node/rank{}/{}/MainThread", rank, 100 + rank),
                   .kind = kind});
    end_ = std::max(end_, end);
  }
  // A step from 0: a wait, own time, and a call between ranks until the end.
  void step(int rank, double begin, double wait, double own, double length) {
    add(rank, "step", begin, begin + length);
    if (wait > 0) add(rank, "step/data wait", begin, begin + wait, PhaseKind::kWait);
    if (wait + own < length)
      add(rank, "step/all_reduce", begin + wait + own, begin + length, PhaseKind::kComm);
  }
  WhatIf find(const CpuDemand& cpu = {}, double remaining = 0) {
    if (!arranged_) timeline_.arrange(at_ms(end_));
    arranged_ = true;
    const Window window{.from = at_ms(0), .to = at_ms(end_)};
    return find_what_if(timeline_, find_leaves(timeline_, window), window, cpu, remaining).value();
  }

 private:
  Timeline timeline_;
  double end_ = 0;
  bool arranged_ = false;
};

void expect_bounds(const Prediction& found, double lower_ms, double upper_ms) {
  ASSERT_TRUE(found.step) << found.reason;
  EXPECT_NEAR(found.step->lower_s, lower_ms / 1000, 1e-6);
  EXPECT_NEAR(found.step->upper_s, upper_ms / 1000, 1e-6);
}

// Ten steps of 30 ms of wait and 10 ms of work.
Ranks one_that_waits() {
  Ranks ranks;
  for (int step = 0; step < 10; ++step) ranks.step(0, 40 * step, 30, 10, 40);
  return ranks;
}

TEST(WhatIf, OfWaitsForAnythingIsAtBestTheWorkAndAtWorstWhatWasObserved) {
  const WhatIf found = one_that_waits().find();
  EXPECT_NEAR(found.step_s, 0.04, 1e-9);
  EXPECT_EQ(found.steps, 10);
  expect_bounds(found.without_waits, 10, 40);
  EXPECT_EQ(found.without_waits.reason, "the waits are not known to be for CPU time");
  EXPECT_FALSE(found.balanced_ranks.step);
  EXPECT_EQ(found.balanced_ranks.reason, "there is one rank");
  EXPECT_EQ(found.text,
            "Without waits a step would take 10 ms at least, instead of 40 ms (modelled).");
}

TEST(WhatIf, OfWaitsForCpuTimeIsAtWorstTheWorkBesideAllCpuTimeOnAllCpus) {
  // 40 ms of CPU time each step, on four CPUs.
  const WhatIf found = one_that_waits().find({.used = 1, .available = 4});
  expect_bounds(found.without_waits, 10, 20);
  EXPECT_EQ(found.without_waits.reason, "");
  EXPECT_EQ(found.text,
            "Without waits a step would take 10 ms to 20 ms instead of 40 ms (modelled).");
  // All CPUs are in use: more loaders gain nothing.
  expect_bounds(one_that_waits().find({.used = 4, .available = 4}).without_waits, 10, 40);
  // The training thread had no CPU for 2 of its 10 ms.
  expect_bounds(one_that_waits().find({.used = 1, .available = 4, .delayed = 0.2}).without_waits, 8,
                20);
}

TEST(WhatIf, CountsWaitsBetweenStepsToo) {
  Ranks ranks;
  for (int step = 0; step < 10; ++step) {
    ranks.add(0, "data wait", 40 * step - 30, 40 * step, PhaseKind::kWait);
    ranks.add(0, "step", 40 * step, 40 * step + 10);
  }
  const WhatIf found = ranks.find();
  EXPECT_NEAR(found.step_s, 0.037, 1e-9) << "the last one ends with its step";
  expect_bounds(found.without_waits, 10, 37);
}

TEST(WhatIf, IsNotAskedOfARunThatDoesNotWait) {
  Ranks ranks;
  for (int step = 0; step < 10; ++step) ranks.step(0, 10 * step, 0, 10, 10);
  const WhatIf found = ranks.find({.used = 1, .available = 2});
  EXPECT_FALSE(found.without_waits.step);
  EXPECT_EQ(found.without_waits.reason, "no waits were recorded");
  EXPECT_EQ(found.text, "");
}

// Rank 1 needs 50 ms, rank 0 20 ms; then both call for 5 ms.
TEST(WhatIf, OfBalancedRanksIsBetweenTheirMeans) {
  Ranks ranks;
  for (int step = 0; step < 10; ++step) {
    ranks.step(0, 55 * step, 0, 20, 55);
    ranks.step(1, 55 * step, 0, 50, 55);
  }
  const WhatIf found = ranks.find();
  EXPECT_NEAR(found.step_s, 0.055, 1e-9);
  expect_bounds(found.balanced_ranks, 2 / (1.0 / 20 + 1.0 / 50) + 5, 35 + 5);
  EXPECT_NE(found.text.find("With balanced ranks a step would take 33.6 ms to 40 ms"),
            std::string::npos)
      << found.text;
}

TEST(WhatIf, OfBalancedRanksWhoseCallsAreHiddenUsesWhenTheyEnterTheBackwardPass) {
  Ranks ranks;
  for (int step = 0; step < 10; ++step) {
    for (const int rank : {0, 1}) {
      ranks.add(rank, "step", 60 * step, 60 * step + 60);
      ranks.add(rank, "step/backward", 60 * step + (rank == 0 ? 10 : 40), 60 * step + 58);
    }
  }
  const WhatIf found = ranks.find();
  expect_bounds(found.balanced_ranks, 60 - (40 - 16), 60 - (40 - 25));
}

TEST(WhatIf, DoesNotKnowTheBalanceOfRanksThatNeverMeet) {
  Ranks ranks;
  for (int step = 0; step < 10; ++step)
    for (const int rank : {0, 1}) ranks.add(rank, "step", 60 * step, 60 * step + 60);
  const WhatIf found = ranks.find();
  EXPECT_FALSE(found.balanced_ranks.step);
  EXPECT_EQ(found.balanced_ranks.reason, "it is not known when each rank needs the others");
}

// Rank 0 waits 30 ms for its data, and rank 1 for rank 0.
TEST(WhatIf, FindsWaitsThatHideInOtherRanksCalls) {
  Ranks seen, hidden;
  for (int step = 0; step < 10; ++step) {
    seen.step(0, 50 * step, 30, 15, 50);
    seen.step(1, 50 * step, 0, 15, 50);
    for (const int rank : {0, 1}) {
      hidden.add(rank, "step", 50 * step, 50 * step + 50);
      hidden.add(rank, "step/backward", 50 * step + (rank == 0 ? 40 : 10), 50 * step + 50);
    }
    hidden.add(0, "step/data wait", 50 * step, 50 * step + 30, PhaseKind::kWait);
  }
  const CpuDemand cpu{.used = 0, .available = 4};
  expect_bounds(seen.find(cpu).without_waits, 20, 20);
  expect_bounds(hidden.find(cpu).without_waits, 20, 50);
}

TEST(WhatIf, LeavesOutStepsThatDoNotMatch) {
  Ranks ranks;
  for (int step = 0; step < 10; ++step) {
    ranks.step(0, 50 * step, 10, 40, 50);
    if (step != 7) ranks.step(1, 50 * step, 10, 40, 50);
  }
  EXPECT_EQ(ranks.find().steps, 7);
}

TEST(WhatIf, HasOrderedBoundsThatRiseWithTheWaitsThatRemain) {
  SplitMix random(5);
  const auto uniform = [&](double most) {
    return most * static_cast<double>(random.below(1000)) / 1e3;
  };
  for (int round = 0; round < 200; ++round) {
    Ranks ranks;
    const int count = 1 + static_cast<int>(random.below(3));
    double begin = 0;
    for (int step = 0; step < 12; ++step) {
      const double length = 40 + uniform(40);
      for (int rank = 0; rank < count; ++rank) {
        const double wait = uniform(20);
        ranks.step(rank, begin, wait, uniform(length - wait), length);
      }
      begin += length;
    }
    const double cores = 0.1 + uniform(3);
    const CpuDemand cpu{.used = round % 2 == 0 ? std::optional(cores) : std::nullopt,
                        .available = cores + uniform(4),
                        .delayed = uniform(0.5)};
    Prediction::Bounds before{.lower_s = 0, .upper_s = 0};
    for (const double remaining : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      const WhatIf found = ranks.find(cpu, remaining);
      for (const Prediction* one : {&found.without_waits, &found.balanced_ranks}) {
        if (!one->step) continue;
        ASSERT_GE(one->step->lower_s, 0);
        ASSERT_LE(one->step->lower_s, one->step->upper_s);
        ASSERT_LE(one->step->upper_s, found.step_s);
      }
      ASSERT_TRUE(found.without_waits.step);
      ASSERT_GE(found.without_waits.step->lower_s, before.lower_s - 1e-12) << round;
      ASSERT_GE(found.without_waits.step->upper_s, before.upper_s - 1e-12) << round;
      before = *found.without_waits.step;
      if (remaining == 1 && count == 1) {
        ASSERT_NEAR(before.lower_s, found.step_s, 1e-9) << "all waits remain: as observed";
      }
    }
  }
}

// ---- the CPU time that waits are for
class Demand : public ::testing::Test {
 protected:
  static MetricMean mean(const std::string& metric, double value, const std::string& source = "") {
    return {.metric = metric,
            .source = source,
            .unit = "",
            .mean = value,
            .least = value,
            .most = value,
            .points = 10};
  }
  CpuDemand find(Resource resource = Resource::kLoaders, BoundPart part = BoundPart::kWait) const {
    LaneLeaves lane;
    lane.lane = "node/100/MainThread";
    lane.trains = true;
    Bottleneck bottleneck;
    bottleneck.part = part;
    bottleneck.resource = resource;
    return find_cpu_demand(std::vector{lane}, RunData(means_), {.cpus = {0, 1, 2, 3}}, bottleneck);
  }

  std::vector<MetricMean> means_ = {mean("run.cpu.used", 1.5),
                                    mean("host.cpu.core.busy", 0.9, "cpu0"),
                                    mean("host.cpu.core.busy", 0.6, "cpu1"),
                                    mean("host.cpu.core.busy", 0.5, "cpu2"),
                                    mean("host.cpu.core.busy", 0, "cpu3"),
                                    mean("run.thread.run_delay", 0.1, "1"),
                                    mean("run.thread.cpu", 0.3, "1"),
                                    mean("run.thread.process", 100, "1"),
                                    mean("run.thread.run_delay", 0.6, "2"),
                                    mean("run.thread.cpu", 0.3, "2"),
                                    mean("run.thread.process", 101, "2")};
};

TEST_F(Demand, IsTheRunsOnCpusThatOthersLeave) {
  const CpuDemand found = find();
  EXPECT_EQ(found.used, 1.5);
  EXPECT_NEAR(found.available, 3.5, 1e-9) << "others used 0.5";
  EXPECT_NEAR(found.delayed, 0.25, 1e-9) << "of the training process alone";
}

TEST_F(Demand, HasAQuotaAndStolenTime) {
  means_.push_back(mean("host.cpu.steal", 0.25));
  EXPECT_NEAR(find().available, 3.25, 1e-9);
  means_.push_back(mean("cgroup.cpu.limit", 2));
  EXPECT_NEAR(find(Resource::kCpuQuota).available, 2, 1e-9);
}

TEST_F(Demand, IsNotKnownOfWaitsForAnythingElse) {
  EXPECT_FALSE(find(Resource::kDisk).used);
  EXPECT_FALSE(find(Resource::kUnknown).used);
  EXPECT_FALSE(find(Resource::kCpus, BoundPart::kWork).used) << "not the waits";
  std::erase_if(means_, [](const MetricMean& one) { return one.source == "cpu2"; });
  EXPECT_FALSE(find().used) << "what others use is not known";
}

}  // namespace
}  // namespace corral::analyze
