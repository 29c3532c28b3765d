#include "analyze/compare/unit_value.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// A training: `steps` steps of `wait_ms` + `work_ms`, with an evaluation of 1 s after the last one
// but ten. Its steps lie in phases of their own, its waits before the steps.
struct Training {
  std::string name = "calm-otter", workload = {}, plan = {}, repetition = {};
  std::int64_t start_ms = 0;
  int steps = 100;
  std::int64_t wait_ms = 20, work_ms = 80;
  std::int32_t exit_code = 0;
  bool ends = true;
  int steps_in_evaluation = 0;
  int faster_from = 1 << 20;  // from this step on, half of the work
  std::string loop = {};      // row of the plan that starts again
  std::string outcome = {};   // "limit", "stopped"
  bool diverges = false;      // its last loss is NaN
  std::string role = "supervisor";
  bool unknown_end = false;
};

class UnitsOfAStore : public ::testing::Test {
 protected:
  RunId add(const Training& training) {
    const RunId run = RunId::random();
    store::testing::SessionWriter writer;
    auto body = store::testing::session_body(run, training.role);
    body.run_name = training.name;
    if (!training.workload.empty()) {
      body.workload = workloads_.try_emplace(training.workload, WorkloadId::random()).first->second;
      body.workload_name = training.workload;
    }
    body.started = boot_time(training.start_ms * kMs);
    store_.append({writer.frame(body)});
    codec::FactsBody facts;
    const auto tag = [&](const char* key, const std::string& value) {
      if (!value.empty())
        facts.facts.push_back({.kind = codec::FactKind::kTag, .key = key, .value = value});
    };
    tag("corral.plan", training.plan);
    tag("corral.plan.repetition", training.repetition);
    tag("corral.plan.row", training.loop);
    tag("corral.loop", training.loop.empty() ? "" : "1");
    tag("corral.outcome", training.outcome);
    if (!facts.facts.empty()) store_.append({writer.frame(facts)});
    store_.append({writer.frame(phases_of(training))});
    store_.append(
        {writer.frame(codec::SchemaBody{.series = {store::testing::series_def(1, "loss")}})});
    std::vector<std::pair<std::int64_t, double>> points;
    for (int i = 1; i <= 20; ++i)
      points.emplace_back((training.start_ms + i * 500) * kMs, 10.0 / i);
    if (training.diverges)
      points.emplace_back((training.start_ms + 10'500) * kMs,
                          std::numeric_limits<double>::quiet_NaN());
    store_.append({writer.frame(store::testing::samples(1, points))});
    if (training.ends) {
      codec::RunEndBody end;
      end.time = boot_time(end_ms_ * kMs);
      end.exit_code = training.exit_code;
      end.reason =
          training.outcome.empty() ? codec::EndReason::kExit : codec::EndReason::kInterrupt;
      if (training.unknown_end) end.reason = codec::EndReason::kUnknown;
      store_.append({writer.frame(end)});
    }
    runs_.push_back(run);
    return run;
  }

  std::vector<RunId> runs_;

  std::vector<UnitValue> read(const ComparedValue& value = {}) {
    std::vector<store::Run> runs;
    for (const RunId run : runs_) runs.push_back(*(*store_).run(run).value());
    return read_units(*store_, runs, {.value = value}).value();
  }

 private:
  codec::PhasesBody phases_of(const Training& training) {
    codec::PhasesBody body;
    std::int64_t at = training.start_ms + 500;
    const auto add = [&](const std::string& name, codec::PhaseKind kind, std::int64_t length,
                         const std::string& outer = "") {
      body.phases.push_back({.id = body.phases.size() + 1,
                             .parent = 0,
                             .begin = boot_time(at * kMs),
                             .end = boot_time((at + length) * kMs),
                             .kind = kind,
                             .name = name,
                             .type = outer + name,
                             .lane = "node7/4711/MainThread",
                             .links = {},
                             .attributes = {}});
      at += length;
    };
    for (int i = 0; i < training.steps; ++i) {
      if (training.wait_ms > 0) add("data wait", codec::PhaseKind::kWait, training.wait_ms);
      add("step", codec::PhaseKind::kCompute,
          i < training.faster_from ? training.work_ms : training.work_ms / 2);
      if (i + 10 != training.steps) continue;
      const std::int64_t before = at;
      add("evaluation", codec::PhaseKind::kCompute, 1000);
      at = before;
      for (int k = 0; k < training.steps_in_evaluation; ++k)
        add("step", codec::PhaseKind::kCompute, 10, "evaluation/");
      at = before + 1000;
    }
    end_ms_ = at + 500;
    return body;
  }

  query::testing::TestStore store_;
  std::map<std::string, WorkloadId> workloads_;
  std::int64_t end_ms_ = 0;
};

TEST_F(UnitsOfAStore, TimePerStepIsTheSumOfItsPartsWithoutWhatLiesApart) {
  add({});
  const std::vector<UnitValue> units = read();
  ASSERT_EQ(units.size(), 1U);
  const UnitValue& unit = units.front();
  ASSERT_TRUE(unit.value) << unit.reason;
  EXPECT_NEAR(*unit.value, 0.1, 1e-9) << "each step has one wait, at the edges too";
  EXPECT_EQ(unit.unit, "s/step");
  ASSERT_EQ(unit.parts.size(), 3U);
  double sum = 0;
  for (const TimePerStep& part : unit.parts) sum += part.apart ? 0 : part.seconds;
  EXPECT_DOUBLE_EQ(sum, *unit.value);
  EXPECT_NEAR(unit.parts[0].seconds, 0.08, 1e-9);
  EXPECT_EQ(unit.parts[1].name, "data wait");
  EXPECT_NEAR(unit.parts[1].seconds, 0.02, 1e-9);
  EXPECT_TRUE(unit.parts[2].apart) << "the evaluation";
  EXPECT_NEAR(unit.stall, 1, 1e-9);
}

TEST_F(UnitsOfAStore, RunsThatDidNotFinishHaveNoValueAndSayWhy) {
  add({.name = "failed", .exit_code = 1});
  add({.name = "alive", .start_ms = 100'000, .ends = false});
  add({.name = "short", .start_ms = 200'000, .steps = 0});
  const std::vector<UnitValue> units = read();
  ASSERT_EQ(units.size(), 3U);
  EXPECT_EQ(units[0].reason, "it ended as failed");
  EXPECT_EQ(units[1].reason, "it is still running");
  EXPECT_EQ(units[2].reason, "neither steps nor epochs were recorded");
  for (const UnitValue& unit : units) EXPECT_FALSE(unit.value);
}

TEST_F(UnitsOfAStore, OfUnknownEndsOnlyThoseOfImportsHaveAMetric) {
  add({.role = "import", .unknown_end = true});
  add({.start_ms = 100'000, .unknown_end = true});  // its supervisor was lost, maybe half-way
  ComparedValue last{.kind = ComparedValue::Kind::kMetric, .metric = "loss"};
  for (const auto of : {ComparedValue::Of::kLast, ComparedValue::Of::kMean}) {
    last.of = of;
    const auto units = read(last);
    ASSERT_EQ(units.size(), 2U);
    EXPECT_TRUE(units[0].value.has_value()) << units[0].reason;
    EXPECT_TRUE(units[0].runs[0].unknown_end);
    EXPECT_EQ(units[1].reason, "its end is unknown");
    EXPECT_FALSE(units[1].runs[0].unknown_end);
  }
  EXPECT_EQ(read()[0].reason, "its end is unknown") << "the time per step";
}

TEST_F(UnitsOfAStore, StepsOfAnEvaluationAreNoSteps) {
  add({.steps_in_evaluation = 40});
  EXPECT_NEAR(read().front().value.value_or(0), 0.1, 1e-9);
  EXPECT_NEAR(read().front().stall, 1, 1e-9) << "nor does it stall";
}

// The start-up of 500 ms lies before the first step.
TEST_F(UnitsOfAStore, FewStepsHaveNoStartUpInThem) {
  add({.name = "few", .steps = 12});
  add({.name = "many", .start_ms = 100'000, .steps = 400});
  add({.name = "one", .start_ms = 200'000, .steps = 1});
  const std::vector<UnitValue> units = read();
  EXPECT_NEAR(units[0].value.value_or(0), 0.1, 1e-9);
  EXPECT_FALSE(units[0].runs.front().unsteady.empty());
  EXPECT_NEAR(units[1].value.value_or(0), 0.1, 1e-9);
  EXPECT_EQ(units[2].reason, "it has fewer than two steps to measure");
}

TEST_F(UnitsOfAStore, ShortOverlapsHaveNoValueAndRunsThatAreLeftOutAreCounted) {
  add({.name = "a", .workload = "both", .steps = 100});
  add({.name = "b", .workload = "both", .start_ms = 10'600, .steps = 100});
  const std::vector<UnitValue> units = read();
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units[0].reason, "its runs had fewer than 10 steps at the same time");
  EXPECT_EQ(units[0].beside, 0U);
  runs_.pop_back();
  const UnitValue alone = read().front();
  EXPECT_TRUE(alone.value);
  EXPECT_EQ(alone.beside, 1U);
}

// Two runs beside each other are one unit: together they make a step each 100 ms and one each
// 50 ms, over the time that both trained.
TEST_F(UnitsOfAStore, RunsBesideEachOtherAreOneUnitAndLaterOnesAnother) {
  add({.name = "a", .workload = "both", .steps = 200});
  add({.name = "b",
       .workload = "both",
       .start_ms = 1000,
       .steps = 200,
       .wait_ms = 0,
       .work_ms = 50});
  add({.name = "c", .workload = "both", .start_ms = 100'000});
  const std::vector<UnitValue> units = read();
  ASSERT_EQ(units.size(), 2U);
  ASSERT_EQ(units[0].runs.size(), 2U);
  EXPECT_EQ(units[0].name, "both");
  ASSERT_TRUE(units[0].value) << units[0].reason;
  EXPECT_NEAR(*units[0].value, 1 / (1 / 0.1 + 1 / 0.05), 0.001);
  EXPECT_TRUE(units[0].parts.empty());
  EXPECT_EQ(units[1].name, "c");
  EXPECT_NEAR(*units[1].value, 0.1, 1e-9);
}

// The other ended: what follows is no longer beside it, and has no part in the value.
TEST_F(UnitsOfAStore, RunsBesideEachOtherAreMeasuredWhileBothTrain) {
  add({.name = "short", .workload = "7", .steps = 100, .wait_ms = 0, .work_ms = 200});
  add({.name = "long",
       .workload = "7",
       .start_ms = 1000,
       .steps = 1000,
       .wait_ms = 0,
       .work_ms = 200,
       .faster_from = 100});
  const std::vector<UnitValue> units = read();
  ASSERT_EQ(units.size(), 1U);
  ASSERT_TRUE(units[0].value) << units[0].reason;
  EXPECT_NEAR(*units[0].runs[0].step_s, 0.2, 1e-9);
  EXPECT_NEAR(*units[0].runs[1].step_s, 0.2, 1e-9);
  EXPECT_NEAR(*units[0].value, 0.1, 1e-9) << "both together";
}

TEST_F(UnitsOfAStore, OfARunThatStartsAgainTheLongestRoundBesideTheOthersCounts) {
  add({.name = "main", .workload = "7", .steps = 200, .wait_ms = 0, .work_ms = 200});
  add({.name = "first", .workload = "7", .steps = 20, .loop = "b"});
  add({.name = "second", .workload = "7", .start_ms = 10'000, .steps = 150, .loop = "b"});
  add({.name = "third",
       .workload = "7",
       .start_ms = 30'000,
       .steps = 300,
       .loop = "b",
       .outcome = "stopped"});
  const std::vector<UnitValue> units = read();
  ASSERT_EQ(units.size(), 1U);
  ASSERT_TRUE(units[0].value) << units[0].reason;
  ASSERT_EQ(units[0].runs.size(), 4U);
  EXPECT_EQ(units[0].runs[1].name, "second");
  EXPECT_FALSE(units[0].runs[1].left_out);
  EXPECT_TRUE(units[0].runs[2].left_out && units[0].runs[3].left_out);
  EXPECT_EQ(units[0].beside, 0U) << "the other rounds are no strangers";
  EXPECT_NEAR(*units[0].runs[0].step_s, 0.2, 1e-9);
  EXPECT_NEAR(*units[0].runs[1].step_s, 0.1, 1e-9);
  const UnitValue target =
      read(
          {.kind = ComparedValue::Kind::kTarget, .metric = {}, .target = *parse_target("loss < 0")})
          .front();
  EXPECT_EQ(std::ranges::count(target.runs, false, &UnitRun::left_out), 1) << "none of its rounds";
  const std::vector<RunId> all = runs_;
  runs_.erase(runs_.begin());
  ASSERT_EQ(read().size(), 1U) << "rounds of one run, which are no repetitions";
  EXPECT_EQ(read()[0].beside, 1U);
  runs_ = all;
  add({.name = "fourth", .workload = "7", .start_ms = 32'000, .exit_code = 1, .loop = "b"});
  EXPECT_EQ(read()[0].reason, "fourth: it ended as failed");
}

TEST_F(UnitsOfAStore, WhatALimitOrItsWorkloadEndedHasATimePerStepAndNoDuration) {
  add({.outcome = "limit"});
  add({.start_ms = 100'000, .outcome = "stopped"});
  add({.start_ms = 200'000, .outcome = "interrupted"});
  const std::vector<UnitValue> units = read();
  EXPECT_NEAR(units[0].value.value_or(0), 0.1, 1e-9);
  EXPECT_NEAR(units[1].value.value_or(0), 0.1, 1e-9);
  EXPECT_EQ(units[2].reason, "it ended as interrupted");
  using Kind = ComparedValue::Kind;
  for (const ComparedValue& value :
       {ComparedValue{.kind = Kind::kDuration, .metric = {}},
        ComparedValue{.kind = Kind::kMetric, .metric = "loss", .of = ComparedValue::Of::kLast}})
    EXPECT_EQ(read(value)[0].reason, "it ended as limit");
}

TEST_F(UnitsOfAStore, ABlockIsTheNumberOfAWorkloadInItsPlan) {
  add({.workload = "mps#2", .plan = "node7 study.csv"});
  EXPECT_EQ(read().front().block, "node7 study.csv#2");
  runs_.clear();
  add({.workload = "mps", .plan = "node7 study.csv", .repetition = "1"});
  EXPECT_EQ(read().front().block, "node7 study.csv#1") << "it was first to run once";
  runs_.clear();
  add({.workload = "mps#two", .plan = "node7 study.csv"});
  EXPECT_EQ(read().front().block, "");
  runs_.clear();
  add({.workload = "mps#2"});
  EXPECT_EQ(read().front().block, "") << "no plan says that it is one";
}

// The loss is 10, 5, 3.33, ... each 500 ms from the start on.
TEST_F(UnitsOfAStore, TimesToATargetAreThoseOfTheFirstValueThatMeetsIt) {
  add({});
  const auto to = [&](const char* text) {
    return read({.kind = ComparedValue::Kind::kTarget, .metric = {}, .target = *parse_target(text)})
        .front();
  };
  EXPECT_NEAR(to("loss <= 2").value.value_or(0), 2.5, 1e-9);
  EXPECT_NEAR(to("loss < 2").value.value_or(0), 3, 1e-9);
  EXPECT_EQ(to("loss <= 2").unit, "s");
  const UnitValue missed = to("loss <= 0.1");
  EXPECT_FALSE(missed.value);
  EXPECT_NEAR(missed.missed_s.value_or(0), 12, 1e-9) << "until the run's end";
  EXPECT_EQ(missed.reason, "it did not reach the target");
  EXPECT_FALSE(to("accuracy > 0").missed_s);
  EXPECT_EQ(to("accuracy > 0").reason, "it has no value of accuracy of its own");
}

TEST_F(UnitsOfAStore, RunsThatFailedOrGoOnHaveTimesToATarget) {
  add({.name = "failed", .exit_code = 1});
  add({.name = "alive", .start_ms = 100'000, .ends = false});
  const auto to = [&](const char* text) {
    return read(
        {.kind = ComparedValue::Kind::kTarget, .metric = {}, .target = *parse_target(text)});
  };
  for (const UnitValue& unit : to("loss <= 2")) EXPECT_NEAR(unit.value.value_or(0), 2.5, 1e-9);
  EXPECT_NEAR(to("loss < 0")[0].missed_s.value_or(0), 12, 1e-9);
  EXPECT_FALSE(to("loss < 0")[1].missed_s) << "it may still reach it";
  EXPECT_EQ(to("loss < 0")[1].reason, "it is still running");
}

TEST_F(UnitsOfAStore, AWorkloadReachesATargetWhenItsLastRunDoes) {
  add({.name = "a", .workload = "both"});
  add({.name = "b", .workload = "both", .start_ms = 1000});
  const auto to = [&](const char* text) {
    return read(
        {.kind = ComparedValue::Kind::kTarget, .metric = {}, .target = *parse_target(text)});
  };
  ASSERT_EQ(to("loss <= 2").size(), 1U);
  EXPECT_NEAR(to("loss <= 2")[0].value.value_or(0), 3.5, 1e-9);
  EXPECT_NEAR(to("loss < 0")[0].missed_s.value_or(0), 12, 1e-9) << "the first one's end";
}

TEST_F(UnitsOfAStore, MetricsAndDurations) {
  add({});
  const UnitValue duration = read({.kind = ComparedValue::Kind::kDuration, .metric = {}}).front();
  EXPECT_NEAR(duration.value.value_or(0), 12, 1e-9);
  EXPECT_EQ(duration.unit, "s");
  const auto of = [&](ComparedValue::Of which, std::string metric = "loss") {
    return read({.kind = ComparedValue::Kind::kMetric, .metric = std::move(metric), .of = which})
        .front();
  };
  EXPECT_NEAR(of(ComparedValue::Of::kLast).value.value_or(0), 0.5, 1e-12);
  EXPECT_NEAR(of(ComparedValue::Of::kMost).value.value_or(0), 5, 1e-9)
      << "the first point is before the first step";
  EXPECT_FALSE(of(ComparedValue::Of::kLast, "accuracy").value);
  EXPECT_EQ(of(ComparedValue::Of::kLast, "accuracy").reason,
            "it has no value of accuracy of its own");
  EXPECT_EQ(of(ComparedValue::Of::kMean, "accuracy").reason,
            "accuracy: the run has no points of it in this time");
  runs_.clear();
  add({.diverges = true});
  EXPECT_EQ(of(ComparedValue::Of::kLast).reason, "its last value of loss is NaN or infinite");
}

}  // namespace
}  // namespace corral::analyze
