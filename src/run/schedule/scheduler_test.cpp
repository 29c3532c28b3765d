// Tests of the scheduler on a fake machine: real plan files and journals, no processes, no waiting.
#include "run/schedule/scheduler.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "core/text.h"
#include "plan/plan_file.h"
#include "run/schedule/fake_world.h"
#include "run/schedule/plan_journal.h"
#include "spool/test_spool.h"
#include "sys/clock.h"

namespace corral::run::schedule {
namespace {

using std::chrono::seconds;

constexpr const char* kHeader =
    "Experiment,Workload,Name,Status,Run,File,Params,Repeat,After,End,Loop\n";

bool has_parent(const FakeRun& run, const std::string& parent) {
  const plan::Pairs::value_type tag{"mlflow.parentRunId", parent};
  return std::ranges::find(run.tags, tag) != run.tags.end();
}

class SchedulerTest : public testing::Test {
 protected:
  void SetUp() override {
    // The files lie in memory if possible: every step is synced.
    const bool memory = std::filesystem::is_directory("/dev/shm");
    std::string pattern = (memory ? "/dev/shm/" : testing::TempDir()) + "corral-schedule-XXXXXX";
    home_ = ::mkdtemp(pattern.data());
    options_.file = home_ / "plan.csv";
    options_.state = home_ / "state";
    options_.plan = {.id = "0123", .file = "plan.csv", .directory = home_};
    options_.plan.ready = home_ / "ready";
    options_.places = {.spool_roots = {home_ / "spool"}, .last_words = home_ / "state" / "ends"};
    options_.quiet = true;
    std::filesystem::create_directories(options_.places.last_words);
    new_world();
  }
  void TearDown() override { std::filesystem::remove_all(home_); }

  // "7,left,,finish,5": workload, name, status, command and params.
  static std::string row(const std::string& text) {
    const auto words = split(text, ',');
    const auto word = [&](std::size_t i) {
      return i < words.size() ? std::string(words[i]) : std::string();
    };
    std::string line = "E," + word(0) + "," + word(1) + "," + word(2) + ",," + word(3);
    for (std::size_t i = 4; i < 9; ++i) line += "," + word(i);
    return line + "\n";
  }
  void write(const std::vector<std::string>& rows) {
    std::string text = kHeader;
    for (const std::string& r : rows) text += row(r);
    write_text(text);
  }
  void write_text(const std::string& text) { std::ofstream(options_.file) << text; }
  [[nodiscard]] std::string text() const {
    std::stringstream text;
    text << std::ifstream(options_.file).rdbuf();
    return text.str();
  }
  int run() {
    return run_schedule(options_, {.launcher = world_,
                                   .machine = machine_,
                                   .prepare = {},
                                   .recorded_end = recorded_end_,
                                   .precision = precision_,
                                   .undo = undo_});
  }
  // Runs the scheduler until it is killed; true if it was.
  bool crashes() {
    try {
      run();
      return false;
    } catch (const Crash&) {
      world_.outlive();
      return true;
    }
  }
  std::string status_of(const std::string& name) {
    const auto plan = plan::read_plan(options_.file, {});
    for (const plan::Row& r : plan->rows)
      if (r.name == name) return r.status;
    return "no such row";
  }
  void expect_status(const std::string& name, const std::string& begin) {
    EXPECT_EQ(status_of(name).substr(0, begin.size()), begin) << text();
  }
  // Leaves the command of the first run alive without a supervisor.
  void leave_command_of_first() {
    spool::Manifest manifest = spool::test_manifest();
    manifest.run = *RunId::parse(world_.runs()[0].id);
    manifest.child = *sys::identity_of(::getpid());
    const auto directory = home_ / "spool" / world_.runs()[0].id;
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "manifest.json") << spool::to_json(manifest);
  }
  [[nodiscard]] bool nobody_waits_to_be_ready() const {
    return !std::filesystem::exists(options_.plan.ready) ||
           std::filesystem::is_empty(options_.plan.ready);
  }
  const FakeRun& run_named(const std::string& name) {
    return *std::ranges::find(world_.runs(), name, &FakeRun::name);
  }

  std::filesystem::path home_;
  ScheduleOptions options_;
  FakeMachine machine_;
  std::function<std::optional<End>(const std::string&)> recorded_end_;
  std::function<Precision(const std::vector<RepeatedWorkload>&)> precision_;
  std::function<void(const std::function<void(const std::string&)>&)> undo_;
  FakeWorld world_{testing::TempDir()};
  void new_world() { world_ = FakeWorld(options_.places.last_words); }
};

TEST_F(SchedulerTest, WhereNothingIsDrawnALineSaysNowAndThenHowFarARunIs) {
  write({"1,a,,tell,1500"});
  options_.quiet = false;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("corral: [0/1] a: epoch 3, loss 0.25, 10:00\n"), std::string::npos) << said;
  EXPECT_NE(said.find("corral: [0/1] a: epoch 3, loss 0.25, 20:00\n"), std::string::npos) << said;
  EXPECT_EQ(said.find("30:00"), std::string::npos) << said;
}

TEST_F(SchedulerTest, APlanRepeatsInBlocksUntilItsIntervalsAreNarrow) {
  write({"1,a,,finish,5", "2,b,,finish,5"});
  options_.blocks = {.least = 3, .most = 9};
  std::vector<std::size_t> asked;
  precision_ = [&](const std::vector<RepeatedWorkload>& workloads) {
    EXPECT_EQ(workloads.size(), 2U);
    EXPECT_EQ(workloads[0].label, "E/1");
    asked.push_back(workloads[1].runs.size());
    const bool narrow = asked.back() == 5;
    return Precision{.state = narrow ? Precision::State::kNarrow : Precision::State::kWide,
                     .words = "the widest interval is ±1 %"};
  };
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(asked, (std::vector<std::size_t>{3, 4, 5})) << "not before the least";
  ASSERT_EQ(world_.runs().size(), 10U);
  std::vector<std::string> order;
  for (const FakeRun& one : world_.runs()) order.push_back(one.workload);
  EXPECT_EQ(std::vector<std::string>(order.begin(), order.begin() + 4),
            (std::vector<std::string>{"1#1", "2#1", "1#2", "2#2"}));
  EXPECT_EQ(order.back(), "2#5");
  expect_status("a", "FINISHED");
  // It is asked again, and nothing runs.
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(asked.back(), 5U);
  EXPECT_EQ(world_.runs().size(), 10U);
}

TEST_F(SchedulerTest, BlocksEndAtTheMostAndGoOnAfterACrash) {
  write({"1,a,,finish,5", "2,b,,finish,5"});
  options_.blocks = {.least = 2, .most = 4};
  precision_ = [](const auto&) { return Precision{.state = Precision::State::kWide, .words = ""}; };
  world_.crash_after(20);
  ASSERT_TRUE(crashes());
  EXPECT_EQ(run(), 0);
  std::vector<std::string> begun;
  for (const FakeRun& one : world_.runs()) begun.push_back(one.workload);
  std::ranges::sort(begun);
  EXPECT_EQ(begun,
            (std::vector<std::string>{"1#1", "1#2", "1#3", "1#4", "2#1", "2#2", "2#3", "2#4"}));
}

TEST_F(SchedulerTest, BlocksEndWhereNothingCanBeSaid) {
  write({"1,a,,finish,5", "2,b,,fail,5"});
  options_.blocks = {.least = 2, .most = 9};
  auto state = Precision::State::kHopeless;
  precision_ = [&](const auto&) { return Precision{.state = state, .words = "E/2 has no value"}; };
  options_.quiet = false;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "after 2 blocks nothing can be said of the precision: E/2 has no value"),
            std::string::npos);
  EXPECT_EQ(world_.runs().size(), 4U);
  // Data that never come end it after a minute, not before.
  state = Precision::State::kWaits;
  const BootTime began = world_.now();
  EXPECT_EQ(run(), 1);
  EXPECT_GE(world_.now() - began, seconds(60));
}

TEST_F(SchedulerTest, BlocksGoOnWhileThePlanIsHalfWrittenAndWithoutRunsThatCouldNotStart) {
  write({"1,a,,finish,5", "2,b,,finish,5"});
  options_.blocks = {.least = 2, .most = 4};
  machine_.refused = "2";
  precision_ = [&](const std::vector<RepeatedWorkload>& workloads) {
    EXPECT_EQ(workloads[1].runs.size(), world_.runs().size() - workloads[0].runs.size())
        << "the server does not know the others";
    machine_.refused.clear();
    write_text("Experiment,Workload\nhalf a line,\"");
    return Precision{.state = Precision::State::kWide, .words = ""};
  };
  run();
  EXPECT_EQ(world_.runs().size(), 6U) << "four of a, the last two of b";
}

TEST_F(SchedulerTest, BlocksAreOfTheSelectedWorkloads) {
  write({"1,a,,finish,5", "2,b,,finish,5", "3,c,,finish,5"});
  EXPECT_EQ(run(), 0);
  options_.blocks = {.least = 2, .most = 2};
  options_.selection.skip = {"3"};
  precision_ = [&](const std::vector<RepeatedWorkload>& workloads) {
    EXPECT_EQ(workloads.size(), 2U) << "although the third has finished";
    return Precision{.state = Precision::State::kNarrow, .words = ""};
  };
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(world_.runs().size(), 5U);
  options_.selection.only = {"1"};
  EXPECT_EQ(run(), 2) << "one is compared with nothing";
}

TEST_F(SchedulerTest, BlocksKeepToWhatTheServerCompares) {
  std::vector<std::string> rows;
  for (int i = 0; i < 101; ++i)
    rows.push_back(std::to_string(i) + ",w" + std::to_string(i) + ",,finish,5");
  write(rows);
  options_.blocks = Blocks();
  EXPECT_EQ(run(), 2);
  rows.resize(41);
  write(rows);
  EXPECT_EQ(run(), 2) << "2,050 runs";
  EXPECT_TRUE(world_.runs().empty());
}

TEST_F(SchedulerTest, BlocksNeedTwoWorkloadsAndAPlanWithoutBlocks) {
  options_.blocks = Blocks();
  for (const std::vector<std::string>& rows :
       {std::vector<std::string>{"1,a,,finish,5"},
        std::vector<std::string>{"1#1,a,,finish,5", "2#1,b,,finish,5"}}) {
    write(rows);
    EXPECT_EQ(run(), 2);
    EXPECT_TRUE(world_.runs().empty());
  }
}

TEST_F(SchedulerTest, AnEndThatNobodyHereSawIsTheServersToTell) {
  // Kills the scheduler after it knew of the start, and before.
  for (const int events : {2, 1}) {
    std::filesystem::remove_all(options_.state);
    std::filesystem::create_directories(options_.places.last_words);
    new_world();
    write({"1,a,,finish,5", "2,b,,finish,5"});
    world_.crash_after(events);
    ASSERT_TRUE(crashes());
    ASSERT_EQ(world_.runs().size(), 1U);
    std::filesystem::remove_all(options_.places.last_words);
    std::string asked;
    recorded_end_ = [&](const std::string& run) {
      asked = run;
      return std::optional(End{.outcome = "failed", .reason = "exit status 3"});
    };
    EXPECT_EQ(run(), 1);
    EXPECT_EQ(asked, world_.runs()[0].id);
    EXPECT_EQ(world_.starts_of("a"), 1);
    expect_status("a", "FAILED failed a");
    expect_status("b", "FINISHED");
  }
}

TEST_F(SchedulerTest, RunsAllWorkloadsInOrderAndWritesThemBack) {
  write({"1,a,,finish,5", "2,b,,finish,3", "2,c,,finish,4"});
  EXPECT_EQ(run(), 0);
  ASSERT_EQ(world_.runs().size(), 3U);
  EXPECT_EQ(world_.runs()[0].name, "a");
  expect_status("a", "FINISHED a");
  expect_status("c", "FINISHED c");
  EXPECT_EQ(machine_.sets, 2);
  EXPECT_EQ(machine_.clears, 2);
  EXPECT_NE(text().find(world_.runs()[0].id), std::string::npos);
}

TEST_F(SchedulerTest, RunsOfAWorkloadStartTogetherAndKnowTheirSkew) {
  write({"1,a,,finish,5", "1,b,,finish,5"});
  EXPECT_EQ(run(), 0);
  const auto& runs = world_.runs();
  EXPECT_EQ(runs[1].started_at - runs[0].started_at, std::chrono::milliseconds(1));
  ASSERT_EQ(runs[0].told.size(), 1U);
  EXPECT_EQ(runs[0].told[0].second, "1.000");
  EXPECT_TRUE(has_parent(runs[1], runs[0].id));
}

TEST_F(SchedulerTest, GoesOnAfterFailuresAndSaysSo) {
  write({"1,a,,fail,2", "2,b,,oom,2", "3,c,,finish,2"});
  EXPECT_EQ(run(), 1);
  expect_status("a", "FAILED failed a");
  expect_status("b", "FAILED out-of-memory b");
  expect_status("c", "FINISHED");
  new_world();
  EXPECT_EQ(run(), 1) << "what failed is not run again";
  EXPECT_TRUE(world_.runs().empty());
  options_.selection.rerun = true;
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(world_.runs().size(), 2U);
}

TEST_F(SchedulerTest, FailFastBeginsNoMore) {
  write({"1,a,,fail,2", "2,b,,finish,2"});
  options_.fail_fast = true;
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(world_.runs().size(), 1U);
}

TEST_F(SchedulerTest, OneThatCannotStartKeepsItsNeighboursFromStarting) {
  write({"1,a,,finish,2", "1,b,,refuse", "2,c,,finish,2"});
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(world_.starts_of("a"), 0);
  expect_status("a", "FAILED not-started a (cpu_A): a run beside it could not start");
  expect_status("b", "FAILED not-started b (cpu_B): no such script");
  expect_status("c", "FINISHED");
}

TEST_F(SchedulerTest, ASupervisorThatIsKilledAtItsStartIsTheReason) {
  write({"1,a,,die", "2,b,,finish,2"});
  EXPECT_EQ(run(), 1);
  expect_status("a",
                "FAILED not-started a (cpu): its supervisor was killed by signal 9 before the "
                "command started");
  expect_status("b", "FINISHED");
}

TEST_F(SchedulerTest, OneThatIsNeverReadyIsGivenUp) {
  write({"1,a,,late", "2,b,,finish,2"});
  EXPECT_EQ(crashes(), false);
  expect_status("a", "FAILED not-started a (cpu): it was not ready in time");
  expect_status("b", "FINISHED");
}

TEST_F(SchedulerTest, MachineThatRefusesFailsTheWorkloadAlone) {
  write({"1,a,,finish,2", "2,b,,finish,2"});
  machine_.refused = "1";
  EXPECT_EQ(run(), 1);
  expect_status("a", "FAILED not-started a (cpu): GPU 0 is too small");
  expect_status("b", "FINISHED");
}

TEST_F(SchedulerTest, WaitsForADeviceThatAnotherSchedulerHas) {
  write({"1,a,,finish,2"});
  machine_.taken = 3;
  EXPECT_EQ(run(), 0);
  EXPECT_GE(world_.now(), BootTime(std::chrono::hours(1)) + seconds(30));
  machine_.taken = 1'000'000;
  write({"2,b,,finish,2"});
  world_.press_ctrl_c(seconds(60));
  EXPECT_EQ(run(), 130);
  EXPECT_EQ(status_of("b"), "");
}

TEST_F(SchedulerTest, EndsWithTheFirst) {
  write({"1,a,,finish,3,,,first", "1,b,,forever"});
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(run_named("b").end->outcome, "stopped");
  expect_status("b", "FINISHED b");
}

TEST_F(SchedulerTest, EndsWithTheNamed) {
  write({"1,a,,finish,3", "1,b,,finish,6,,,this", "1,c,,forever"});
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(run_named("b").end->outcome, "finished");
  EXPECT_EQ(run_named("c").end->outcome, "stopped");
}

TEST_F(SchedulerTest, NeighbourStartsAgainUntilTheMeasuredRunEnds) {
  write({"1,a,,finish,10", "1,b,,finish,3,,,,yes"});
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(world_.starts_of("b"), 4);
  EXPECT_EQ(world_.runs().back().end->outcome, "stopped");
  expect_status("b", "FINISHED b");
}

TEST_F(SchedulerTest, NeighbourThatALimitOfItsRowEndsStartsAgain) {
  write({"1,a,,finish,10", "1,b,,limit,3,,,,yes"});
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(world_.starts_of("b"), 4);
  expect_status("b", "FINISHED b");
}

TEST_F(SchedulerTest, NeighbourMayStandFirst) {
  write({"1,b,,finish,3,,,,yes", "1,a,,finish,10"});
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(world_.starts_of("b"), 4);
  EXPECT_TRUE(nobody_waits_to_be_ready());
  EXPECT_TRUE(has_parent(world_.runs().back(), world_.runs()[0].id));
}

TEST_F(SchedulerTest, RepetitionsRunOneAfterTheOther) {
  write({"1,a,,finish,2,3", "2,b,,finish,2"});
  EXPECT_EQ(run(), 0);
  std::vector<std::string> workloads;
  for (const FakeRun& r : world_.runs()) workloads.push_back(r.workload);
  EXPECT_EQ(workloads, (std::vector<std::string>{"1#1", "2", "1#2", "1#3"}));
  expect_status("a", "FINISHED a");
}

TEST_F(SchedulerTest, CtrlCInterruptsAndTheNextOneGoesOn) {
  write({"1,a,,finish,2", "2,b,,finish,10", "3,c,,finish,2"});
  world_.press_ctrl_c(seconds(6));
  EXPECT_EQ(run(), 130);
  expect_status("a", "FINISHED");
  expect_status("b", "INTERRUPTED b");
  EXPECT_EQ(status_of("c"), "");
  EXPECT_EQ(machine_.clears, 2);
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(world_.starts_of("a"), 1);
  EXPECT_EQ(world_.starts_of("b"), 2);
  expect_status("b", "FINISHED");
  expect_status("c", "FINISHED");
}

TEST_F(SchedulerTest, WhatIsInterruptedCountsAsToBeRun) {
  write({"1,a,,finish,9", "2,b,,finish,1"});
  options_.quiet = false;
  world_.press_ctrl_c(seconds(2));
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(), 130);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("corral: [0/2] a: interrupted"), std::string::npos) << said;
  EXPECT_NE(said.find("corral: 0 of 2 runs finished, 1 interrupted; "), std::string::npos) << said;
}

// The interrupted scheduler waits for the runs of a killed one, and undoes its changes.
TEST_F(SchedulerTest, CtrlCWhileRunsAreWaitedForLeavesNothingChanged) {
  write({"1,a,,forsake,3 1000"});
  world_.crash_after(2);
  ASSERT_TRUE(crashes());
  leave_command_of_first();
  bool ended = false;
  undo_ = [&](const auto&) { ended = world_.runs()[0].end.has_value(); };
  world_.press_ctrl_c(seconds(5));
  EXPECT_EQ(run(), 130);
  EXPECT_TRUE(ended);
}

TEST_F(SchedulerTest, CtrlCBehindTheGateStartsNothing) {
  write({"1,a,,late", "1,b,,finish,2"});
  world_.press_ctrl_c(seconds(1));
  EXPECT_EQ(run(), 130);
  EXPECT_EQ(world_.starts_of("b"), 0);
  expect_status("b", "INTERRUPTED b");
}

TEST_F(SchedulerTest, KilledSupervisorIsReplaced) {
  write({"1,a,,vanish,3 10"});
  EXPECT_EQ(run(), 0);
  EXPECT_TRUE(world_.runs()[0].adopted);
  EXPECT_EQ(world_.starts_of("a"), 1);
}

// An undo before the run's end would take its devices away.
TEST_F(SchedulerTest, RunThatNobodyTakesOverIsWaitedFor) {
  write({"1,a,,forsake,3 10", "2,b,,finish,1"});
  world_.at(seconds(2), [&](std::vector<Event>&) { leave_command_of_first(); });
  world_.at(seconds(9), [&](std::vector<Event>&) {
    EXPECT_EQ(world_.starts_of("b"), 0);
    EXPECT_EQ(machine_.clears, 0);
    std::filesystem::remove_all(home_ / "spool");
  });
  EXPECT_EQ(run(), 1);
  expect_status("a", "FAILED unknown");
  EXPECT_EQ(world_.starts_of("b"), 1);
}

TEST_F(SchedulerTest, EditsWhileItRunsCount) {
  write({"1,a,,finish,5", "2,b,,finish,2", "3,c,,finish,2"});
  world_.at(seconds(2), [&](std::vector<Event>&) {
    std::string now = text();
    const std::size_t b = now.find("E,2,b");
    now.replace(b, now.find('\n', b) - b, "E,2,b2,,,finish,2,,,,");
    now.erase(now.find("E,3,c"));
    write_text(now + row("4,d,,finish,1"));
  });
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(world_.starts_of("a"), 1);
  EXPECT_EQ(world_.starts_of("b"), 0);
  EXPECT_EQ(world_.starts_of("c"), 0);
  expect_status("a", "FINISHED");
  expect_status("b2", "FINISHED");
  expect_status("d", "FINISHED");
}

TEST_F(SchedulerTest, FileThatIsBrokenMeanwhileDoesNotStopThePlan) {
  write({"1,a,,finish,5", "2,b,,finish,2"});
  world_.at(seconds(2), [&](std::vector<Event>&) {
    std::string now = text();
    now.replace(now.find("E,2,b"), 5, ",,b,\"");
    write_text(now);
  });
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(world_.starts_of("b"), 1);
}

TEST_F(SchedulerTest, TheLastWordCountsWhatHappened) {
  options_.quiet = false;
  const auto said = [&](int status) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(), status);
    return testing::internal::GetCapturedStderr();
  };
  const auto holds = [](const std::string& text, std::string_view words) {
    return text.find(words) != std::string::npos;
  };
  write({"1,a,,finish,1", "2,b,,finish,1"});
  EXPECT_TRUE(holds(said(0), "corral: 2 of 2 runs finished\n"));
  const std::string again = said(0);
  EXPECT_TRUE(holds(again,
                    "corral: nothing to run: all 2 runs have finished; --rerun repeats failed "
                    "ones, an emptied Status repeats a row\n"))
      << again;
  write({"1,a,,finish,1", "3,c,,fail"});
  EXPECT_TRUE(holds(said(1), "corral: 1 of 2 runs finished, 1 failed; --rerun runs again"));
  const std::string failed = said(1);
  EXPECT_TRUE(holds(failed, "corral: nothing to run: 1 of 2 runs finished, 1 failed; --rerun"))
      << failed;
}

TEST_F(SchedulerTest, ClearedStatusRunsTheRowAgain) {
  write({"1,a,,finish,2", "2,b,,finish,2"});
  EXPECT_EQ(run(), 0);
  std::string now = text();
  const std::size_t at = now.find("FINISHED a");
  now.erase(at, now.find(',', at) - at);
  write_text(now);
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(world_.starts_of("a"), 2);
  EXPECT_EQ(world_.starts_of("b"), 1);
  expect_status("a", "FINISHED a");
}

TEST_F(SchedulerTest, PlanWithResultsOfAnotherHostSkipsThem) {
  write({"1,a,FINISHED by radT,finish,2", "2,b,FAILED,finish,2", "3,c,RUNNING,finish,2"});
  EXPECT_EQ(run(), 1);
  ASSERT_EQ(world_.runs().size(), 1U);
  EXPECT_EQ(world_.runs()[0].name, "c");
}

TEST_F(SchedulerTest, APlanThatAnotherHostRunsIsLeftToIt) {
  const std::string run_elsewhere = "0123456789abcdef0123456789abcdef";
  write_text(std::string(kHeader) + "E,1,a,RUNNING," + run_elsewhere + ",finish,2,,,,\n" +
             "E,2,b,,,finish,2,,,,\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(), 1);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("plan.csv:2: Status is RUNNING"), std::string::npos) << said;
  EXPECT_NE(said.find("--take-over"), std::string::npos) << said;
  EXPECT_TRUE(world_.runs().empty());
  options_.take_over = true;
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(world_.runs().size(), 2U);
}

TEST_F(SchedulerTest, ARowThatWasNotStartedSaysItsOwnReason) {
  write({"1,a,,finish,2", "1,b,,finish,2", "1,c,,finish,2"});
  machine_.refused = "1";
  machine_.reason = "run 0: there is no GPU '7' here\nrun 1: GPU 0 is too small";
  EXPECT_EQ(run(), 1);
  expect_status("a", "FAILED not-started a (cpu_A): there is no GPU '7' here");
  expect_status("b", "FAILED not-started b (cpu_B): GPU 0 is too small");
  expect_status("c", "FAILED not-started c (cpu_C): a run beside it could not start");
}

TEST_F(SchedulerTest, TheFilesLockIsSharedByAllHosts) {
  write({"1,a,,finish,2"});
  options_.claim = home_ / "claim";
  {
    const auto other = PlanLock::acquire(options_.claim, sys::utc_now());
    ASSERT_TRUE(other);
    EXPECT_EQ(run(), 1);
    EXPECT_TRUE(world_.runs().empty());
  }
  EXPECT_EQ(run(), 0);
}

TEST_F(SchedulerTest, UntilBeginsNothingAfterThatTime) {
  write({"1,a,,finish,2"});
  options_.until = sys::utc_now() - seconds(1);
  EXPECT_EQ(run(), 3);
  EXPECT_TRUE(world_.runs().empty());
}

TEST_F(SchedulerTest, UntilHoldsForWhatIsWaitedForBeforeAWorkload) {
  const auto reached_after = [&](Nanos time) {
    options_.until = sys::utc_now() + std::chrono::hours(1);
    world_.at(time, [&](std::vector<Event>&) { options_.until = sys::utc_now() - seconds(1); });
  };
  write({"1,a,,finish,2", "2,b,,finish,2"});
  options_.cool_down = seconds(30);
  reached_after(seconds(10));
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(world_.starts_of("a"), 1);
  EXPECT_EQ(world_.starts_of("b"), 0);
  machine_.taken = 1000;
  reached_after(seconds(60));
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(world_.starts_of("b"), 0);
  EXPECT_EQ(status_of("b"), "") << "it has not failed";
}

TEST_F(SchedulerTest, CoolsDownBetweenWorkloads) {
  write({"1,a,,finish,2", "2,b,,finish,2"});
  options_.cool_down = seconds(30);
  EXPECT_EQ(run(), 0);
  EXPECT_GE(world_.runs()[1].started_at - world_.runs()[0].started_at, seconds(32));
}

TEST_F(SchedulerTest, OnePlanHasOneScheduler) {
  write({"1,a,,finish,2"});
  const auto held = PlanLock::acquire(options_.state, sys::utc_now());
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(run(), 1);
  EXPECT_TRUE(world_.runs().empty());
  const auto again = PlanLock::acquire(options_.state, sys::utc_now());
  EXPECT_NE(again.error().message.find("process " + std::to_string(::getpid())), std::string::npos);
}

TEST_F(SchedulerTest, DryRunChangesNothing) {
  write({"1,a,,finish,2", "2,b,,finish,2"});
  const std::string before = text();
  options_.dry_run = true;
  options_.state = home_ / "other";
  testing::internal::CaptureStdout();
  EXPECT_EQ(run(), 0);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("change: group for 2"), std::string::npos) << said;
  EXPECT_EQ(text(), before);
  EXPECT_FALSE(std::filesystem::exists(options_.state));
}

TEST_F(SchedulerTest, WithErrorsNothingRuns) {
  write_text("Experiment,Workload,File\nE,1,\nE,,train\n");
  EXPECT_EQ(run(), 2);
  EXPECT_TRUE(world_.runs().empty());
}

// Wherever the scheduler is killed, the next one goes on and the table ends the same.
TEST_F(SchedulerTest, KilledAnywhereItEndsTheSame) {
  for (int events = 0; events < 16; ++events) {
    new_world();
    std::filesystem::remove_all(options_.state);
    std::filesystem::create_directories(options_.places.last_words);
    write({"1,a,,finish,2", "1,b,,fail,4", "2,c,,finish,2,2", "3,d,,finish,2,,1",
           "4,e,,finish,2,,2"});
    world_.crash_after(events);
    const bool crashed = crashes();
    if (crashed) run();
    SCOPED_TRACE(testing::Message() << "killed after " << events << "\n" << text());
    expect_status("a", "FINISHED a");
    expect_status("b", "FAILED failed b");
    expect_status("c", "FINISHED c");
    EXPECT_EQ(status_of("d"), "") << "workload 1 has failed";
    expect_status("e", "FINISHED e");
    EXPECT_EQ(world_.starts_of("a"), 1);
    EXPECT_EQ(world_.starts_of("b"), 1);
    EXPECT_EQ(world_.starts_of("c"), 2);
    EXPECT_EQ(world_.starts_of("e"), 1);
    EXPECT_TRUE(std::filesystem::is_empty(options_.places.last_words));
    EXPECT_TRUE(nobody_waits_to_be_ready());
  }
}

// Any plan, any number of kills and interrupts: every run that can finish has finished once.
TEST_F(SchedulerTest, RandomPlansWithKillsEndRight) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](unsigned n) { return random() % n; };
    new_world();
    std::filesystem::remove_all(options_.state);
    std::filesystem::create_directories(options_.places.last_words);
    std::vector<std::string> rows;
    std::vector<bool> fails;
    for (unsigned i = 0; i < 12; ++i) {
      fails.push_back(pick(4) == 0);
      rows.push_back(std::to_string(i * 2 / 3) + ",r" + std::to_string(i) + ",," +
                     (fails.back() ? "fail," : "finish,") + std::to_string(1 + pick(4)));
    }
    write(rows);
    for (int kills = 0; kills < 6; ++kills) {
      world_.crash_after(static_cast<int>(pick(40)));
      if (!crashes()) break;
    }
    world_.crash_after(-1);
    run();
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << text());
    for (unsigned i = 0; i < rows.size(); ++i) {
      const std::string name = "r" + std::to_string(i);
      expect_status(name, (fails[i] ? "FAILED failed " : "FINISHED ") + name);
      EXPECT_EQ(world_.starts_of(name), 1);
    }
  }
}

}  // namespace
}  // namespace corral::run::schedule
