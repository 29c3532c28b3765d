#include "analyze/explain/leaves.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace corral::analyze {
namespace {

using codec::PhaseKind;

UtcTime at(double second) { return utc_time(static_cast<std::int64_t>(second * 1e9)); }

struct Span {
  double begin;
  std::optional<double> end;
  std::string type;
  PhaseKind kind = PhaseKind::kCompute;
  std::string lane = "node/7/MainThread";
};

Timeline make_timeline(const std::vector<Span>& spans, double until) {
  Timeline timeline;
  for (const Span& span : spans) {
    const std::string name = span.type.substr(span.type.rfind('/') + 1);
    timeline.add({.begin = at(span.begin),
                  .end = span.end ? std::optional(at(*span.end)) : std::nullopt,
                  .name = name,
                  .type = span.type,
                  .lane = span.lane,
                  .kind = span.kind});
  }
  timeline.arrange(at(until));
  return timeline;
}

std::vector<std::string> texts(const LaneLeaves& lane) {
  std::vector<std::string> out;
  for (const Leaf& leaf : lane.leaves)
    out.push_back(fmt::format("{}: {:g} s in {}", leaf.name, seconds(leaf.total), leaf.phases));
  return out;
}
using Texts = std::vector<std::string>;

TEST(Leaves, TheInnermostPhaseHasTheTime) {
  const Timeline timeline = make_timeline({{2, 8, "epoch", PhaseKind::kControl},
                                           {2, 4, "epoch/step"},
                                           {2, 3, "epoch/step/data wait", PhaseKind::kWait},
                                           {4, 7, "epoch/step"},
                                           {4, 4.5, "epoch/step/data wait", PhaseKind::kWait}},
                                          10);
  const auto lanes = find_leaves(timeline, {.from = at(0), .to = at(10)});
  ASSERT_EQ(lanes.size(), 1U);
  EXPECT_EQ(texts(lanes[0]), (Texts{"forward and rest: 3.5 s in 2", "data wait: 1.5 s in 2",
                                    "between steps: 1 s in 1"}));
  EXPECT_TRUE(lanes[0].trains);
  EXPECT_EQ(lanes[0].steps, 2);
  EXPECT_EQ(lanes[0].in_steps, std::chrono::seconds(5));
  EXPECT_EQ(lanes[0].start_up, std::chrono::seconds(2));
  EXPECT_EQ(lanes[0].untracked, Nanos(0));
  EXPECT_EQ(lanes[0].shutdown, std::chrono::seconds(2));
}

TEST(Leaves, OfEqualTimesTheOuterPhaseIsTheOneWithTheShorterPath) {
  for (const bool reversed : {false, true}) {
    std::vector<Span> spans{{0, 4, "epoch"}, {0, 4, "epoch/step"}};
    if (reversed) std::ranges::reverse(spans);
    const auto lanes = find_leaves(make_timeline(spans, 4), {.from = at(0), .to = at(4)});
    EXPECT_EQ(texts(lanes[0]).front(), "step: 4 s in 1");
  }
}

TEST(Leaves, AStepWithinAStepIsNotCounted) {
  const Timeline timeline =
      make_timeline({{0, 4, "train_step"}, {0, 4, "train_step/step"}, {4, 6, "train_step"}}, 6);
  const auto lanes = find_leaves(timeline, {.from = at(0), .to = at(6)});
  EXPECT_EQ(lanes[0].steps, 2);
  EXPECT_EQ(lanes[0].in_steps, std::chrono::seconds(6));
}

TEST(Leaves, ManyKindsOfPhasesAreOneBeyondALimit) {
  std::vector<Span> spans;
  for (int i = 0; i < 3000; ++i) spans.push_back({i * 1.0, i + 1.0, fmt::format("batch {}x", i)});
  const auto lanes = find_leaves(make_timeline(spans, 3000), {.from = at(0), .to = at(3000)});
  ASSERT_EQ(lanes[0].leaves.size(), kMostLeaves + 1);
  EXPECT_EQ(lanes[0].leaves.back().name, "other phases");
  EXPECT_EQ(lanes[0].leaves.back().total, std::chrono::seconds(2000));
}

TEST(Leaves, AWindowCutsThem) {
  const Timeline timeline =
      make_timeline({{0, 10, "epoch"}, {1, 5, "epoch/step"}, {5, {}, "epoch/step"}}, 20);
  const auto lanes = find_leaves(timeline, {.from = at(4), .to = at(8)});
  EXPECT_EQ(texts(lanes[0]), (Texts{"step: 4 s in 1", "between steps: 0 s in 0"}));
}

TEST(Leaves, ThePhaseThatBeganLastHasTheTimeOfCrossingOnes) {
  const Timeline timeline = make_timeline({{0, 4, "a"}, {2, 6, "b"}, {3, 5, "c"}}, 10);
  const auto lanes = find_leaves(timeline, {.from = at(0), .to = at(10)});
  EXPECT_EQ(texts(lanes[0]), (Texts{"a: 2 s in 1", "b: 2 s in 1", "c: 2 s in 1"}));
  EXPECT_EQ(lanes[0].untracked, std::chrono::seconds(4)) << "without steps all of it";
}

TEST(Leaves, OfEachRankTheLaneWithMostTimeInStepsTrains) {
  const Timeline timeline =
      make_timeline({{0, 9, "checkpoint", PhaseKind::kIo, "node/rank0/7/saver"},
                     {0, 2, "step", PhaseKind::kCompute, "node/rank0/7/MainThread"},
                     {0, 1, "step", PhaseKind::kCompute, "node/rank0/7/other"},
                     {0, 3, "step", PhaseKind::kCompute, "node/rank1/8/MainThread"}},
                    10);
  const auto lanes = find_leaves(timeline, {.from = at(0), .to = at(10)});
  Texts order;
  for (const LaneLeaves& lane : lanes) order.push_back(lane.lane + (lane.trains ? " trains" : ""));
  EXPECT_EQ(order, (Texts{"node/rank1/8/MainThread trains", "node/rank0/7/MainThread trains",
                          "node/rank0/7/saver", "node/rank0/7/other"}));
}

TEST(Leaves, WithoutStepsTheEpochsTakeTheirPlace) {
  const Timeline timeline = make_timeline({{2, 5, "epoch", PhaseKind::kControl},
                                           {2, 3, "epoch/data wait", PhaseKind::kWait},
                                           {5, 8, "epoch", PhaseKind::kControl},
                                           {7, 8, "epoch/evaluation"}},
                                          10);
  EXPECT_EQ(timeline.unit(), Unit::kEpoch);
  const auto lanes = find_leaves(timeline, {.from = at(0), .to = at(10)});
  EXPECT_TRUE(lanes[0].trains);
  EXPECT_EQ(lanes[0].steps, 2);
  EXPECT_EQ(texts(lanes[0]),
            (Texts{"training and rest: 4 s in 2", "data wait: 1 s in 1", "evaluation: 1 s in 1"}));
  EXPECT_EQ(lanes[0].start_up, std::chrono::seconds(2));
  EXPECT_EQ(lanes[0].shutdown, std::chrono::seconds(2));
}

TEST(Leaves, NumbersAtTheEndsOfNamesMakeNoTypes) {
  const Timeline timeline = make_timeline({{0, 4, "epoch 0"},
                                           {0, 1, "epoch 0/wait_0", PhaseKind::kWait},
                                           {4, 8, "epoch 1"},
                                           {4, 5, "epoch 1/wait_1", PhaseKind::kWait},
                                           {6, 7, "epoch 1/layer4x"}},
                                          10);
  const auto lanes = find_leaves(timeline, {.from = at(0), .to = at(10)});
  EXPECT_EQ(texts(lanes[0]),
            (Texts{"training and rest: 5 s in 2", "wait: 2 s in 2", "layer4x: 1 s in 1"}));
  EXPECT_EQ(lanes[0].leaves[1].type, "epoch/wait");
}

TEST(Timeline, NumbersAreTakenFromTheEndsOfNames) {
  EXPECT_EQ(without_numbers("epoch 12/eval_1/fold-2/x3"), "epoch/eval/fold/x");
  EXPECT_EQ(without_numbers("layer4x/2nd"), "layer4x/2nd");
  EXPECT_EQ(without_numbers("12/ 7/"), "12/ 7/") << "nothing else is in the name";
  EXPECT_EQ(without_numbers(""), "");
}

TEST(Leaves, OneStepAnywhereMakesStepsTheUnit) {
  const Timeline timeline =
      make_timeline({{0, 5, "epoch", PhaseKind::kControl, "node/rank0/7/MainThread"},
                     {0, 1, "step", PhaseKind::kCompute, "node/rank1/8/MainThread"}},
                    10);
  const auto lanes = find_leaves(timeline, {.from = at(0), .to = at(10)});
  EXPECT_EQ(timeline.unit(), Unit::kStep);
  EXPECT_EQ(lanes[0].lane, "node/rank1/8/MainThread");
  EXPECT_FALSE(lanes[1].trains);
}

TEST(Leaves, ARankOfWhichLittleWasRecordedDoesNotTrain) {
  const Timeline timeline =
      make_timeline({{0, 90, "step", PhaseKind::kCompute, "node/rank0/7/MainThread"},
                     {0, 60, "step", PhaseKind::kCompute, "node/rank1/8/MainThread"},
                     {0, 2, "step", PhaseKind::kCompute, "node/rank2/profiler/thread"}},
                    100);
  for (const LaneLeaves& lane : find_leaves(timeline, {.from = at(0), .to = at(100)}))
    EXPECT_EQ(lane.trains, lane.lane.find("rank2") == std::string::npos) << lane.lane;
}

// The pieces of a lane are its window, each moment once, for any phases.
TEST(Leaves, AddUpToTheWindow) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> time(0, 100);
  for (int round = 0; round < 200; ++round) {
    std::vector<Span> spans;
    for (int i = 0; i < 50; ++i) {
      const double begin = time(random);
      const bool open = random() % 10 == 0;
      spans.push_back({.begin = begin,
                       .end = open ? std::nullopt : std::optional(begin + time(random) / 5),
                       .type = random() % 2 == 0 ? "step" : fmt::format("p{}", random() % 5)});
    }
    const Timeline timeline = make_timeline(spans, 90);
    const double from = time(random);
    const Window window{.from = at(from), .to = at(from + 20)};
    for (const LaneLeaves& lane : find_leaves(timeline, window)) {
      Nanos sum = lane.start_up + lane.untracked + lane.shutdown;
      for (const Leaf& leaf : lane.leaves) sum += leaf.total;
      EXPECT_EQ(sum, window.length());
    }
  }
}

}  // namespace
}  // namespace corral::analyze
