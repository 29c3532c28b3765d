// Tests of plans whose workloads run in jobs, on a fake cluster: real plan files and journals, and
// in each job the real scheduler on a fake machine. With real jobs: tests/e2e/test_slurm_plans.py.
#include "run/schedule/plan_jobs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include "core/text.h"
#include "plan/plan_file.h"
#include "run/schedule/fake_world.h"
#include "run/schedule/plan_part.h"

namespace corral::run::schedule {
namespace {

using Words = std::vector<std::string>;

// Jobs wait until the queue was asked once, and run to their end before it is asked again.
class FakeCluster : public JobQueue {
 public:
  explicit FakeCluster(const ScheduleOptions& of_plan) : options_(of_plan) {}

  Result<std::string> submit(const NewJob& job) override {
    if (refusals-- > 0) return fail(Code::kUnprocessable, "sbatch: too many jobs");
    if (unsure == Unsure::kLost) return fail(Code::kUnavailable, "sbatch: timed out");
    names.push_back(job.name);
    given = job.options;
    jobs_.push_back({.id = std::to_string(jobs_.size() + 1),
                     .name = job.name,
                     .state = "PENDING",
                     .reason = "Resources"});
    places_.push_back(job.script.parent_path());
    if (crashes_after_submit) throw Crash();
    if (unsure == Unsure::kSubmitted) return fail(Code::kUnavailable, "sbatch: timed out");
    return jobs_.back().id;
  }

  Result<std::vector<QueuedJob>> jobs() override {
    if (away-- > 0) return fail(Code::kUnavailable, "squeue: no controller");
    std::vector<QueuedJob> told = jobs_;
    std::erase_if(told, [&](const QueuedJob& job) { return forgets && job.ended(); });
    told.insert(told.end(), former.begin(), former.end());
    const bool hold = halted || held-- > 0;
    for (std::size_t i = 0; i < jobs_.size() && !hold; ++i) {
      if (jobs_[i].ended()) continue;
      jobs_[i].reason.clear();
      jobs_[i].state = end_of(i);
    }
    return told;
  }

  Words names;  // all jobs, the first submitted first
  Words given;  // options of the last
  Words runs;   // names of the runs that were started
  Words plans;  // their tags
  enum class Unsure { kNo, kLost, kSubmitted };
  Unsure unsure = Unsure::kNo;    // the answers of sbatch
  int refusals = 0;               // so many submissions are refused
  std::vector<QueuedJob> former;  // the queue tells of these, too
  bool forgets = false;           // the queue does not tell of ended jobs
  std::function<void(const std::string& workload)> before_run;
  std::map<std::string, std::string> ends;  // by job's id: how it ends without running anything
  int away = 0;                             // the queue is not reached so often
  bool late = false;                        // jobs begin after --until
  bool halted = false;                      // jobs wait on
  int held = 0;                             // jobs wait until the queue was asked so often
  bool crashes_after_submit = false;

 private:
  std::string end_of(std::size_t job) {
    if (const auto end = ends.find(jobs_[job].id); end != ends.end()) return end->second;
    const auto folder = PartFolder::open(places_[job]);
    const auto part = folder ? folder->part() : tl::unexpected(folder.error());
    EXPECT_TRUE(part) << part.error().message;
    if (before_run) before_run(part->workload);
    ScheduleOptions options = options_;
    options.part = *part;
    options.plan.id = part->plan;
    options.until = late ? UtcTime() : part->until;
    options.state = places_[job];
    options.plan.ready = places_[job] / "ready";
    options.places.last_words = places_[job] / "ends";
    std::filesystem::create_directories(options.places.last_words);
    FakeWorld world(options.places.last_words);
    FakeMachine machine;
    const ScheduleParts parts{.launcher = world, .machine = machine, .prepare = {}, .undo = {}};
    const int status = run_schedule(options, parts);
    for (const FakeRun& run : world.runs()) {
      runs.push_back(run.name);
      for (const auto& [key, value] : run.tags)
        if (key == "corral.plan") plans.push_back(value);
    }
    return status == 0 ? "COMPLETED" : "FAILED";
  }

  const ScheduleOptions& options_;
  std::vector<QueuedJob> jobs_;
  std::vector<fs::path> places_;
};

class PlanJobsTest : public testing::Test {
 protected:
  void SetUp() override {
    const bool memory = fs::is_directory("/dev/shm");
    std::string pattern = (memory ? "/dev/shm/" : testing::TempDir()) + "corral-jobs-XXXXXX";
    home_ = ::mkdtemp(pattern.data());
    options_.file = home_ / "plan.csv";
    options_.state = home_ / "state";
    options_.plan = {.id = "0123456789abcdef", .file = "plan.csv", .directory = home_};
    options_.places = {.spool_roots = {home_ / "spool"}, .last_words = home_ / "ends"};
    options_.quiet = true;
    fs::create_directories(options_.places.last_words);
    std::ofstream(options_.file) << "Experiment,Workload,Name,Status,Run,File,Params,After\n"
                                    "E,1,a,,,finish,5,\n"
                                    "E,1,b,,,finish,9,\n"
                                    "E,2,c,,,finish,5,1\n"
                                    "E,3,d,,,finish,5,\n";
  }
  void TearDown() override { fs::remove_all(home_); }

  int run() {
    FakeWorld world(options_.places.last_words);
    if (prepare_) prepare_(world);
    const JobOptions jobs{
        .script = [](const fs::path& part) { return "exec corral " + part.string() + "\n"; },
        .directory = home_,
        .options = {"--partition=a"}};
    return run_in_jobs(options_,
                       {.launcher = world, .machine = machine_, .prepare = {}, .undo = {}},
                       cluster_, jobs);
  }
  bool crashes() {
    try {
      run();
      return false;
    } catch (const Crash&) {
      return true;
    }
  }
  std::string status_of(const std::string& name) {
    const auto plan = plan::read_plan(options_.file, {});
    for (const plan::Row& row : plan->rows)
      if (row.name == name) return row.status;
    return "no such row";
  }
  void expect_all_ran_once() {
    std::ranges::sort(cluster_.runs);
    EXPECT_EQ(cluster_.runs, (Words{"a", "b", "c", "d"}));
    for (const char* name : {"a", "b", "c", "d"})
      EXPECT_TRUE(status_of(name).starts_with("FINISHED")) << name << ": " << status_of(name);
  }

  fs::path home_;
  ScheduleOptions options_;
  FakeMachine machine_;
  FakeCluster cluster_{options_};
  std::function<void(FakeWorld&)> prepare_;
};

TEST_F(PlanJobsTest, EachWorkloadRunsInAJobOfThePlan) {
  EXPECT_EQ(run(), exit_status::kDone);
  EXPECT_EQ(cluster_.runs, (Words{"a", "b", "d", "c"})) << "c comes after the first workload";
  EXPECT_EQ(cluster_.names.size(), 3U);
  EXPECT_EQ(cluster_.given, Words{"--partition=a"});
  EXPECT_EQ(cluster_.plans, Words(4, options_.plan.id));
  expect_all_ran_once();
  EXPECT_EQ(run(), exit_status::kDone);
  EXPECT_EQ(cluster_.names.size(), 3U) << "nothing was left";
}

TEST_F(PlanJobsTest, ARunThatFailsIsOneOfThePlan) {
  std::ofstream(options_.file, std::ios::app) << "E,4,e,,,fail,3,\nE,5,f,,,finish,1,4\n";
  EXPECT_EQ(run(), exit_status::kFailed);
  EXPECT_TRUE(status_of("e").starts_with("FAILED failed e")) << status_of("e");
  EXPECT_EQ(status_of("f"), "") << "it comes after one that failed";
  EXPECT_TRUE(status_of("c").starts_with("FINISHED"));
  options_.selection.rerun = true;
  EXPECT_EQ(run(), exit_status::kFailed);
  EXPECT_EQ(std::ranges::count(cluster_.runs, "e"), 2);
  EXPECT_EQ(std::ranges::count(cluster_.runs, "a"), 1);
}

TEST_F(PlanJobsTest, KilledAnywhereItRunsNothingTwice) {
  for (int events = 0;; ++events) {
    prepare_ = [&](FakeWorld& world) { world.crash_after(events); };
    if (!crashes()) break;
    ASSERT_LT(events, 1000);
  }
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, AJobWhoseIdWasLostIsFoundByItsName) {
  cluster_.crashes_after_submit = true;
  EXPECT_TRUE(crashes());
  cluster_.crashes_after_submit = false;
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
  EXPECT_EQ(cluster_.names.size(), 3U);
}

// The state of its plan was deleted since.
TEST_F(PlanJobsTest, AFormerJobOfTheSameNameIsNotTakenForIt) {
  cluster_.former = {{.id = "99",
                      .name = "corral-" + options_.plan.id.substr(0, 12) + "-000001",
                      .state = "FAILED",
                      .reason = {}}};
  cluster_.held = 3;
  EXPECT_EQ(run(), exit_status::kDone);
  EXPECT_EQ(cluster_.names.front(), cluster_.former.front().name);
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, WithoutTheQueuesAnswerNothingIsSubmittedAnew) {
  cluster_.crashes_after_submit = true;
  EXPECT_TRUE(crashes());
  cluster_.crashes_after_submit = false;
  cluster_.away = 5;
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
  EXPECT_EQ(cluster_.names.size(), 3U);
}

TEST_F(PlanJobsTest, AJobThatEndsBeforeItsRunsBeginHasFailed) {
  cluster_.ends = {{"1", "NODE_FAIL"}};
  EXPECT_EQ(run(), exit_status::kFailed);
  EXPECT_TRUE(status_of("a").starts_with(
      "FAILED not-started a (cpu_A): Slurm's job 1 has ended (node_fail)"))
      << status_of("a");
  EXPECT_TRUE(status_of("d").starts_with("FINISHED"));
  EXPECT_EQ(status_of("c"), "");
}

TEST_F(PlanJobsTest, OneThatSomebodyCancelsIsRunByTheNextCommand) {
  cluster_.ends = {{"1", "CANCELLED"}};
  run();
  EXPECT_TRUE(status_of("a").starts_with("INTERRUPTED")) << status_of("a");
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, JobsThatBeginTooLateAreLeftForTheNextCommand) {
  options_.until = UtcTime(std::chrono::hours(24 * 365 * 200));
  cluster_.late = true;
  EXPECT_EQ(run(), exit_status::kRowsLeft);
  EXPECT_TRUE(cluster_.runs.empty());
  EXPECT_TRUE(status_of("a").starts_with("INTERRUPTED")) << status_of("a");
  cluster_.late = false;
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, CtrlCLeavesTheJobsAlone) {
  cluster_.halted = true;
  prepare_ = [](FakeWorld& world) { world.press_ctrl_c(std::chrono::minutes(5)); };
  EXPECT_EQ(run(), exit_status::kInterrupted);
  EXPECT_EQ(status_of("a"), "");
  cluster_.halted = false;
  prepare_ = {};
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
  EXPECT_EQ(cluster_.names.size(), 3U);
}

TEST_F(PlanJobsTest, AQueueThatIsAwayForAWhileChangesNothing) {
  prepare_ = [&](FakeWorld& world) {
    world.at(std::chrono::seconds(1), [&](std::vector<Event>&) { cluster_.away = 3; });
  };
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, ARefusedFirstJobEndsThePlanUntilTheNextCommand) {
  cluster_.refusals = 1;
  EXPECT_EQ(run(), exit_status::kFailed);
  EXPECT_EQ(status_of("a"), "") << "nothing was begun";
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, ALaterOneIsTriedAgain) {
  prepare_ = [&](FakeWorld& world) {
    world.at(std::chrono::seconds(1), [&](std::vector<Event>&) { cluster_.refusals = 2; });
  };
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, ASubmissionOfUnknownEndIsFoundInTheQueue) {
  cluster_.unsure = FakeCluster::Unsure::kSubmitted;
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
  EXPECT_EQ(cluster_.names.size(), 3U);
}

TEST_F(PlanJobsTest, OneThatTheQueueDoesNotKnowIsMadeAnew) {
  cluster_.unsure = FakeCluster::Unsure::kLost;
  prepare_ = [&](FakeWorld& world) {
    world.at(std::chrono::seconds(100),
             [&](std::vector<Event>&) { cluster_.unsure = FakeCluster::Unsure::kNo; });
  };
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, AQueueThatForgetsEndedJobsChangesNothing) {
  cluster_.forgets = true;
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, JobsThatAreCancelledWhileItFollowsThemWaitForTheNextCommand) {
  cluster_.halted = true;
  prepare_ = [](FakeWorld& world) { world.press_ctrl_c(std::chrono::minutes(5)); };
  EXPECT_EQ(run(), exit_status::kInterrupted);
  prepare_ = [&](FakeWorld& world) {
    world.at(std::chrono::seconds(50), [&](std::vector<Event>&) {
      cluster_.halted = false;
      cluster_.ends = {{"1", "CANCELLED"}, {"2", "CANCELLED"}};
    });
  };
  run();
  EXPECT_EQ(cluster_.names.size(), 2U) << "they are not submitted again at once";
  EXPECT_TRUE(status_of("d").starts_with("INTERRUPTED"));
  prepare_ = {};
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
}

TEST_F(PlanJobsTest, RowsThatWereEditedWhileTheirJobWaitedRunInAnotherOne) {
  bool edited = false;
  cluster_.before_run = [&](const std::string& workload) {
    if (workload != "E/3" || std::exchange(edited, true)) return;
    std::ofstream(options_.file) << "Experiment,Workload,Name,Status,Run,File,Params,After\n"
                                    "E,1,a,,,finish,5,\nE,1,b,,,finish,9,\n"
                                    "E,2,c,,,finish,5,1\nE,3,d,,,finish,6,\n";
  };
  run();
  run();
  expect_all_ran_once();
  EXPECT_EQ(cluster_.names.size(), 4U);
}

TEST_F(PlanJobsTest, AWorkloadThatIsTakenOutOfTheFileAndPutBackIsNotRunBesideItself) {
  cluster_.halted = true;
  prepare_ = [](FakeWorld& world) { world.press_ctrl_c(std::chrono::minutes(5)); };
  EXPECT_EQ(run(), exit_status::kInterrupted);
  std::stringstream before;
  before << std::ifstream(options_.file).rdbuf();
  std::ofstream(options_.file) << "Experiment,Workload,Name,Status,Run,File,Params,After\n"
                                  "E,3,d,,,finish,5,\n";
  EXPECT_EQ(run(), exit_status::kInterrupted);
  std::ofstream(options_.file) << before.str();
  cluster_.halted = false;
  prepare_ = {};
  EXPECT_EQ(run(), exit_status::kDone);
  expect_all_ran_once();
  EXPECT_EQ(cluster_.names.size(), 3U);
}

TEST_F(PlanJobsTest, OneThatTheClusterEndsForItsUseHasThatOutcome) {
  cluster_.ends = {{"2", "OUT_OF_MEMORY"}};
  EXPECT_EQ(run(), exit_status::kFailed);
  EXPECT_TRUE(status_of("d").starts_with("FAILED")) << status_of("d");
}

TEST(ParseSqueue, AnswersAsSlurmGivesThem) {
  const auto jobs = parse_squeue(
      "slurm_load_jobs error\n12|corral-0123-000001|PENDING|Resources\n13|other|RUNNING|None\n"
      "14_[1-3]|array|PENDING|Priority\n15|corral-0123-000002|TIMEOUT|TimeLimit\n");
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_TRUE(jobs[0].waits());
  EXPECT_EQ(jobs[0].reason, "Resources");
  EXPECT_EQ(jobs[1].reason, "");
  EXPECT_FALSE(jobs[1].ended());
  EXPECT_TRUE(jobs[2].ended());
}

}  // namespace
}  // namespace corral::run::schedule
