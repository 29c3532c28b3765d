#include "analyze/workflow.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "analyze/split_mix.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

using codec::PhaseKind;

UtcTime second(double s) { return utc_time(static_cast<std::int64_t>(s * 1e9)); }

// Fields of a run that tests leave as they are: host "node", finished, a row of its own.
WorkflowRun planned(const std::string& name, const std::string& workload, double from, double to) {
  return {.id = name,
          .name = name,
          .host = "node",
          .time = {.from = second(from), .to = second(to)},
          .outcome = "finished",
          .workload = workload,
          .after = {},
          .row = name};
}

Workflow find(const std::vector<WorkflowRun>& runs, bool in_plan = true) {
  const auto found = find_workflow(runs, in_plan);
  EXPECT_TRUE(found.has_value()) << found.error().message;
  return found.value_or(Workflow());
}

// "A first 0+10, C after 2+8"
std::string path_text(const Workflow& found, const std::vector<WorkflowRun>& runs) {
  std::vector<std::string> texts;
  for (const PathStep& step : found.path)
    texts.push_back(fmt::format("{} {} {:g}+{:g}", runs[step.run].name, path_link_name(step.link),
                                step.wait_s, step.seconds));
  return join(texts, ", ");
}

double wait_of(const Workflow& found, std::size_t run) {
  return std::ranges::find(found.queue, run, &QueueWait::run)->seconds;
}

TEST(Workflow, ThePathEndsWithTheLastRunAndAddsUpToTheMakespan) {
  std::vector<WorkflowRun> runs = {planned("D", "3", 21, 25), planned("A", "1", 0, 10),
                                   planned("B", "1", 0, 8), planned("C", "2", 12, 20)};
  runs[3].after = {"1"};
  const Workflow found = find(runs);
  EXPECT_EQ(path_text(found, runs), "A first 0+10, C after 2+8, D turn 1+4");
  EXPECT_DOUBLE_EQ(found.makespan_s, 25);
  EXPECT_DOUBLE_EQ(found.waiting_s, 3);
  EXPECT_DOUBLE_EQ(wait_of(found, 3), 2) << "ready once A, the longer run of 1, had ended";
  EXPECT_DOUBLE_EQ(wait_of(found, 0), 21) << "ready from the plan's begin on";
  EXPECT_DOUBLE_EQ(wait_of(found, 2), 0);
  EXPECT_EQ(found.queue.front().run, 0U);
  ASSERT_EQ(found.hosts.size(), 1U);
  EXPECT_DOUBLE_EQ(found.hosts[0].seconds, 25);
  EXPECT_DOUBLE_EQ(found.hosts[0].idle_s, 3);
  EXPECT_EQ(found.ends, (std::array<std::size_t, 4>{0, 4, 0, 0}));
  EXPECT_FALSE(found.provisional);
}

TEST(Workflow, FailedAndRepeatedRunsAreCounted) {
  std::vector<WorkflowRun> runs = {planned("A", "1", 0, 5), planned("B", "2", 5, 10),
                                   planned("A again", "1", 12, 20), planned("C", "3", 21, 24),
                                   planned("C again", "3", 25, 27)};
  runs[0].outcome = "out-of-memory";
  runs[2].row = "A";
  runs[3].outcome = "interrupted";
  runs[4].row = "C";
  runs[4].outcome = "running";
  const Workflow found = find(runs);
  EXPECT_EQ(path_text(found, runs),
            "A first 0+5, B turn 0+5, A again turn 2+8, C turn 1+3, C again repeat 1+2");
  EXPECT_EQ(found.ends, (std::array<std::size_t, 4>{1, 2, 1, 1}));
  EXPECT_TRUE(found.provisional);
  EXPECT_DOUBLE_EQ(found.lost_s, 8);
  EXPECT_EQ(found.repeated_by[0], 2U);
  EXPECT_EQ(found.repeated_by[3], 4U);
  EXPECT_EQ(found.repeated_by[1], std::nullopt);
  EXPECT_DOUBLE_EQ(wait_of(found, 2), 7) << "ready again once the first attempt had ended";
}

TEST(Workflow, TheRestartsOfALoopAreNoRepeats) {
  std::vector<WorkflowRun> runs = {planned("neighbour", "1", 0, 5), planned("A", "1", 0, 10),
                                   planned("neighbour again", "1", 5, 10)};
  runs[2].row = "neighbour";
  runs[0].loop = runs[2].loop = true;
  runs[2].outcome = "stopped";
  const Workflow found = find(runs);
  EXPECT_EQ(found.repeated_by[0], std::nullopt);
  EXPECT_EQ(found.ends, (std::array<std::size_t, 4>{0, 3, 0, 0}));
}

TEST(Workflow, AfterMeansTheSameRepetitionElseTheOneBefore) {
  std::vector<WorkflowRun> runs = {planned("a1", "a#1", 0, 1), planned("b1", "b#1", 1, 2),
                                   planned("c", "c", 2, 3),    planned("a2", "a#2", 4, 5),
                                   planned("b2", "b#2", 7, 8), planned("d2", "d#2", 9, 10)};
  for (const std::size_t i : {3U, 4U, 5U}) runs[i].repetition = 2;
  for (const std::size_t i : {0U, 1U}) runs[i].repetition = 1;
  runs[1].after = runs[4].after = {"a"};
  runs[5].after = {"c"};
  const Workflow found = find(runs);
  EXPECT_EQ(path_text(found, runs),
            "a1 first 0+1, b1 after 0+1, c turn 0+1, a2 turn 1+1, b2 after 2+1, d2 turn 1+1");
  EXPECT_DOUBLE_EQ(wait_of(found, 4), 2) << "since a#2, not a#1";
  EXPECT_DOUBLE_EQ(wait_of(found, 5), 6) << "since c, which is not repeated";
}

TEST(Workflow, HostsMeetOnlyByAfter) {
  std::vector<WorkflowRun> runs = {planned("A", "1", 0, 4), planned("B", "2", 0, 6),
                                   planned("C", "3", 7, 9)};
  runs[1].host = "other";
  EXPECT_EQ(path_text(find(runs), runs), "A first 0+4, C turn 3+2");
  runs[2].after = {"2"};
  const Workflow found = find(runs);
  EXPECT_EQ(path_text(found, runs), "B first 0+6, C after 1+2");
  ASSERT_EQ(found.hosts.size(), 2U);
  EXPECT_DOUBLE_EQ(found.hosts[0].idle_s, 3);
  EXPECT_DOUBLE_EQ(found.hosts[1].seconds, 6);
}

TEST(Workflow, CirclesAreRefused) {
  std::vector<WorkflowRun> runs = {planned("A", "1", 0, 1), planned("B", "2", 1, 2),
                                   planned("C", "3", 2, 3)};
  runs[0].after = {"2"};
  runs[1].after = {"1"};
  const auto found = find_workflow(runs, true);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kUnprocessable);
  EXPECT_EQ(found.error().message, "workloads of the plan come after each other: 1, 2");
  runs[0].after = {"1"};
  EXPECT_FALSE(find_workflow(runs, true)) << "a workload after itself";
  runs[0].after = {"nothing of this name"};
  EXPECT_TRUE(find_workflow(runs, true));
}

TEST(Workflow, AClockThatIsAFewMillisecondsAheadChangesNoSum) {
  const std::vector<WorkflowRun> runs = {planned("A", "1", 0, 2), planned("B", "2", 1.995, 3),
                                         planned("C", "3", 2.9, 4)};
  EXPECT_EQ(path_text(find({runs[0], runs[1]}), runs), "A first 0+2, B turn 0+1");
  EXPECT_EQ(path_text(find(runs), runs), "A first 0+2, C turn 0.9+1.1") << "B had not ended";
}

TEST(Workflow, WithoutAPlanThereIsNoQueue) {
  const std::vector<WorkflowRun> runs = {planned("A", "1", 0, 2), planned("B", "1", 3, 4)};
  EXPECT_TRUE(find(runs, false).queue.empty());
  EXPECT_TRUE(find({}, true).path.empty());
}

TEST(Workflow, TimesMayLieAnywhere) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  WorkflowRun first = planned("A", "1", 0, 0), last = planned("B", "2", 0, 0);
  first.time = {.from = utc_time(kLeast), .to = utc_time(kLeast)};
  last.time = {.from = utc_time(kMost), .to = utc_time(kMost)};
  const Workflow found = find({first, last});
  EXPECT_DOUBLE_EQ(found.makespan_s, 0x1p64 * 1e-9);
  EXPECT_DOUBLE_EQ(found.waiting_s, found.makespan_s);
  EXPECT_DOUBLE_EQ(found.hosts[0].idle_s, found.makespan_s);
}

TEST(Workflow, AnyRunsAddUpToTheMakespan) {
  SplitMix random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<WorkflowRun> runs;
    const std::size_t count = 1 + random.next() % 12;
    for (std::size_t i = 0; i < count; ++i) {
      const auto from = static_cast<double>(random.next() % 20);
      const auto length = static_cast<double>(random.next() % 5);
      runs.push_back(planned(std::to_string(i), std::to_string(i), from, from + length));
      runs.back().host = random.next() % 3 == 0 ? "other" : "node";
      if (i > 0 && random.next() % 2 == 0) runs.back().after = {std::to_string(random.next() % i)};
    }
    const Workflow found = find(runs);
    double sum = 0;
    for (const PathStep& step : found.path) sum += step.wait_s + step.seconds;
    EXPECT_NEAR(sum, found.makespan_s, 1e-9) << path_text(found, runs);
    const StageTimes stages = stages_of_path(found, {});
    EXPECT_NEAR(std::accumulate(stages.begin(), stages.end(), 0.0), found.makespan_s, 1e-9);
  }
}

// ---- stages

struct TimedPhase {
  double begin, end;
  std::string type;
  PhaseKind kind = PhaseKind::kCompute;
};

Timeline timeline_of(const std::vector<TimedPhase>& phases) {
  Timeline timeline;
  for (const TimedPhase& phase : phases)
    timeline.add({.begin = second(phase.begin),
                  .end = second(phase.end),
                  .name = phase.type.substr(phase.type.rfind('/') + 1),
                  .type = phase.type,
                  .lane = "node/7/MainThread",
                  .kind = phase.kind});
  timeline.arrange(second(1000));
  return timeline;
}

double stage_of(const StageTimes& times, Stage stage) {
  return times.at(static_cast<std::size_t>(stage));
}

TEST(Stages, EvaluationAndIoCountWhereverTheyAre) {
  const Timeline timeline =
      timeline_of({{1, 2, "load"},
                   {2, 3, "restore", PhaseKind::kIo},
                   {4, 10, "epoch", PhaseKind::kControl},
                   {4, 6, "epoch/step"},
                   {6, 7, "epoch/evaluation"},
                   {6.25, 6.5, "epoch/evaluation/data wait", PhaseKind::kWait},
                   {7, 9, "epoch/step"},
                   {8, 8.5, "epoch/step/checkpoint", PhaseKind::kIo},
                   {10, 11, "evaluation"}});
  const StageTimes times = stages_of_run(timeline, {.from = second(0), .to = second(12)});
  EXPECT_DOUBLE_EQ(stage_of(times, Stage::kPreparation), 3) << "0 to 2, 3 to 4";
  EXPECT_DOUBLE_EQ(stage_of(times, Stage::kTraining), 3.5) << "4 to 6, 7 to 8, 8.5 to 9";
  EXPECT_DOUBLE_EQ(stage_of(times, Stage::kEvaluation), 2);
  EXPECT_DOUBLE_EQ(stage_of(times, Stage::kIo), 1.5);
  EXPECT_DOUBLE_EQ(stage_of(times, Stage::kShutdown), 2) << "9 to 10, 11 to 12";
  EXPECT_DOUBLE_EQ(stage_of(times, Stage::kUnknown), 0);
}

TEST(Stages, ARunWithoutStepsIsUnknown) {
  const Timeline timeline = timeline_of({{1, 2, "load"}});
  const StageTimes times = stages_of_run(timeline, {.from = second(0), .to = second(12)});
  EXPECT_DOUBLE_EQ(stage_of(times, Stage::kUnknown), 12);
}

TEST(Stages, OfAPathIncludeItsWaits) {
  const std::vector<WorkflowRun> runs = {planned("A", "1", 0, 10), planned("B", "2", 12, 20)};
  StageTimes of_b{};
  of_b.at(static_cast<std::size_t>(Stage::kTraining)) = 6;
  of_b.at(static_cast<std::size_t>(Stage::kPreparation)) = 2;
  const StageTimes all =
      stages_of_path(find(runs), std::vector{std::optional<StageTimes>(), std::optional(of_b)});
  EXPECT_DOUBLE_EQ(stage_of(all, Stage::kWait), 2);
  EXPECT_DOUBLE_EQ(stage_of(all, Stage::kUnknown), 10);
  EXPECT_DOUBLE_EQ(stage_of(all, Stage::kTraining), 6);
  EXPECT_DOUBLE_EQ(stage_of(all, Stage::kPreparation), 2);
}

TEST(RunEnds, CountAsThePlanCountsThem) {
  EXPECT_EQ(run_end_of("limit"), RunEnd::kFinished);
  EXPECT_EQ(run_end_of("stopped"), RunEnd::kFinished);
  EXPECT_EQ(run_end_of("neighbour"), RunEnd::kFailed);
  EXPECT_EQ(run_end_of("unknown"), RunEnd::kFailed);
  EXPECT_EQ(run_end_of("interrupted"), RunEnd::kInterrupted);
}

}  // namespace
}  // namespace corral::analyze
