// Stage and undo on this machine's own control groups: skipped where none may be made.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "collect/test_roots.h"
#include "collocate/account.h"
#include "collocate/group_files.h"
#include "collocate/run_group.h"
#include "collocate/stage.h"
#include "collocate/undo.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::collocate {
namespace {

// A process that sleeps until it is ended; `stubborn`: SIGTERM does not end it. It ends with the
// test.
class Sleeper {
 public:
  // It ignores the signal from its first moment.
  explicit Sleeper(bool stubborn = false) {
    const auto before = std::signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
    pid_ = ::fork();
    if (pid_ == 0) {
      for (;;) ::pause();
    }
    std::signal(SIGTERM, before);
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool runs() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }
  // Returns the signal that ended it.
  int wait() {
    int status = 0;
    return ::waitpid(pid_, &status, 0) == pid_ && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_ = -1;
};

class StageKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto tree = GroupTree::read("/");
    const auto plan = tree ? plan_group(*tree, "probe", {.cpus = {0}, .memory_bytes = 1 << 26})
                           : Result<GroupPlan>(tl::unexpected(tree.error()));
    if (!plan) GTEST_SKIP() << plan.error().message;
  }
  [[nodiscard]] StageOptions options() const {
    return {.nvml = "/no/such/library",
            .mps_control = {},
            .root = "/",
            .state = state_.path(),
            .locks = state_.path() / "locks",
            .label = "test",
            .holder = {},
            .data = {},
            .cancelled = {}};
  }
  [[nodiscard]] UndoOptions undo_options(bool end_runs) const {
    return {.state = state_.path(),
            .root = "/",
            .nvml = "/no/such/library",
            .mps_control = {},
            .dry_run = false,
            .end_runs = end_runs};
  }
  // Makes a stage for one run of an owner that is killed; returns its group.
  std::string abandoned() {
    auto stage = Stage::plan({share()}, options());
    Journal journal = Journal::open(state_.path()).value();
    EXPECT_TRUE(stage->set(journal));
    return stage->seats()[0].cgroup;
  }
  static plan::Share share() {
    plan::Share share;
    share.cpus = {0};
    share.memory_bytes = 64 << 20;
    return share;
  }
  static bool exists(const std::string& target) {
    for (const std::string_view directory : split(target, ':')) {
      if (fs::exists(directory)) return true;
    }
    return false;
  }
  collect::FakeRoot state_;
};

TEST_F(StageKernelTest, ARunIsHeldAndWhatItLeavesBehindGoesWithItsGroup) {
  auto stage = Stage::plan({share()}, options());
  ASSERT_TRUE(stage) << stage.error().message;
  Journal journal = Journal::open(state_.path()).value();
  const auto set = stage->set(journal);
  ASSERT_TRUE(set) << set.error().message;
  const std::string group = stage->seats()[0].cgroup;
  Sleeper run;
  Sleeper stubborn(true);
  for (const Sleeper* one : {&run, &stubborn}) {
    const auto entered = enter_group(group, one->pid());
    ASSERT_TRUE(entered) << entered.error().message;
  }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(::sched_getaffinity(run.pid(), sizeof allowed, &allowed), 0);
  EXPECT_EQ(CPU_COUNT(&allowed), 1);
  EXPECT_TRUE(CPU_ISSET(0, &allowed));
  const auto cleared = stage->clear(journal);
  ASSERT_TRUE(cleared) << cleared.error().message;
  EXPECT_EQ(run.wait(), SIGTERM);
  EXPECT_EQ(stubborn.wait(), SIGKILL);
  EXPECT_FALSE(exists(group)) << group;
  EXPECT_TRUE(journal.close());
}

TEST_F(StageKernelTest, TheKernelTakesEveryLimit) {
  plan::Share share;
  share.cpu_count = 1;
  share.numa_node = 0;
  share.cpu_quota = 0.5;
  share.io_weight = 50;
  share.memory_bytes = 64 << 20;
  auto stage = Stage::plan({share}, options());
  // Some kernels lack some of them; the error names just those.
  if (!stage) GTEST_SKIP() << stage.error().message;
  Journal journal = Journal::open(state_.path()).value();
  const auto set = stage->set(journal);
  ASSERT_TRUE(set) << set.error().message;
  std::string found;
  for (const std::string_view directory : split(stage->seats()[0].cgroup, ':')) {
    for (const char* file : {"cpu.max", "cpu.cfs_quota_us", "memory.max", "memory.limit_in_bytes",
                             "cpuset.mems", "blkio.bfq.weight", "blkio.weight", "io.weight"})
      found += " " + read_control(fs::path(directory) / file);
  }
  for (const char* value : {" 50000", " 67108864", " 0", "50"})
    EXPECT_NE(found.find(value), std::string::npos) << value << " of" << found;
  ASSERT_TRUE(stage->clear(journal));
  EXPECT_FALSE(exists(stage->seats()[0].cgroup));
}

TEST_F(StageKernelTest, UndoWaitsForARunAndEndsItOnlyWhenAsked) {
  const std::string group = abandoned();
  Sleeper run;
  ASSERT_TRUE(enter_group(group, run.pid()));
  const UndoReport waiting = undo_all(undo_options(false));
  EXPECT_FALSE(waiting.complete());
  EXPECT_TRUE(run.runs());
  EXPECT_TRUE(exists(group));
  const UndoReport done = undo_all(undo_options(true));
  EXPECT_TRUE(done.complete());
  EXPECT_EQ(run.wait(), SIGTERM);
  EXPECT_FALSE(exists(group)) << group;
  EXPECT_TRUE(Journal::files(state_.path()).value_or(std::vector<fs::path>()).empty());
}

// A training may make groups below its own.
TEST_F(StageKernelTest, GroupsBelowGoToo) {
  const std::string group = abandoned();
  Sleeper run;
  for (const std::string_view directory : split(group, ':')) {
    const fs::path below = fs::path(directory) / "below";
    ASSERT_TRUE(sys::make_directories(below));
    // A cpuset of v1 takes no process before it has CPUs and memory.
    for (const char* file : {"cpuset.cpus", "cpuset.mems"}) {
      const std::string value = read_control(fs::path(directory) / file);
      if (fs::exists(below / file)) static_cast<void>(write_control(below / file, value));
    }
    ASSERT_TRUE(enter_group(below.string(), run.pid())) << below;
  }
  EXPECT_NE(undo_all(undo_options(false)).lines.at(0).reason, "");
  EXPECT_TRUE(undo_all(undo_options(true)).complete());
  EXPECT_FALSE(exists(group)) << group;
}

TEST_F(StageKernelTest, AnAccountingGroupCountsAProcessThatIsGone) {
  Journal journal = Journal::open(state_.path()).value();
  auto group = account_group(journal, {.root = "/", .label = "count", .busctl = "/bin/false"});
  ASSERT_TRUE(group) << group.error().message;
  {
    Sleeper run;
    ASSERT_TRUE(group->enter(run.pid()));
    EXPECT_TRUE(run.runs());
  }
  EXPECT_TRUE(exists(group->target()));
  EXPECT_TRUE(put_back(journal, 0, undo_options(true)));
  EXPECT_FALSE(exists(group->target()));
  EXPECT_TRUE(journal.close());
}

TEST_F(StageKernelTest, WhatOutlivesARunLeavesItsAccountingGroup) {
  Journal journal = Journal::open(state_.path(), false).value();
  auto group = account_group(journal, {.root = "/", .label = "left", .busctl = "/bin/false"});
  ASSERT_TRUE(group) << group.error().message;
  Sleeper left;
  ASSERT_TRUE(group->enter(left.pid()));
  group->release_members();
  EXPECT_TRUE(put_back(journal, 0, undo_options(false)));
  EXPECT_FALSE(exists(group->target()));
  EXPECT_TRUE(left.runs());
  EXPECT_TRUE(journal.close());
}

// Paths like those that podman makes for a container below the run's group.
TEST_F(StageKernelTest, PathsThatAToolHasCopiedToOtherHierarchiesGoToo) {
  const fs::path devices = "/sys/fs/cgroup/devices";
  if (!in_kernel(devices)) GTEST_SKIP() << "no control groups of v1";
  const std::string group = abandoned();
  const fs::path first(split(group, ':')[0]);
  const fs::path hierarchy = fs::path("/sys/fs/cgroup") / *std::next(first.begin(), 4);
  const fs::path copy = devices / first.lexically_relative(hierarchy);
  ASSERT_TRUE(sys::make_directories(copy / "below"));
  EXPECT_TRUE(undo_all(undo_options(false)).complete());
  EXPECT_FALSE(fs::exists(copy)) << copy;
}

}  // namespace
}  // namespace corral::collocate
