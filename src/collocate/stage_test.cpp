// Stage and undo under a made-up root: v1, v2 and hybrid, and a kill at every step.
#include "collocate/stage.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <tuple>

#include "collect/test_roots.h"
#include "collocate/account.h"
#include "collocate/device_locks.h"
#include "collocate/group_files.h"
#include "collocate/offers.h"
#include "collocate/undo.h"
#include "core/failpoint.h"
#include "core/text.h"
#include "sys/process.h"

namespace corral::collocate {
namespace {

using plan::Share;

// The tests make hundreds of synced writes, which are cheap in memory.
const bool in_memory = ::access("/dev/shm", W_OK) == 0 && ::setenv("TMPDIR", "/dev/shm", 0) == 0;

enum class Layout { kV1, kV2, kHybrid };

// A machine of four CPUs with the control groups of a layout; the process is in /session of each.
class Machine {
 public:
  explicit Machine(Layout layout) {
    root_.write("sys/devices/system/cpu/online", "0-3\n");
    root_.write("sys/devices/system/node/node0/cpulist", "0-3\n");
    root_.write("proc/sys/vm/drop_caches", "");
    root_.write("proc/meminfo", "MemAvailable:       1024 kB\n");
    std::string groups;
    std::string mounts;
    if (layout != Layout::kV2) {
      for (const std::string name : {"cpuset", "cpu", "cpuacct", "memory", "blkio", "freezer"}) {
        groups += "5:" + name + ":/session\n";
        mounts += mount_line(name, "cgroup", name);
        root_.write("sys/fs/cgroup/" + name + "/session/cgroup.procs", "");
      }
      root_.write("sys/fs/cgroup/cpuset/session/cpuset.cpus", "0-3\n");
      root_.write("sys/fs/cgroup/cpuset/session/cpuset.mems", "0\n");
    }
    if (layout != Layout::kV1) {
      groups += "0::/session\n";
      mounts += mount_line("unified", "cgroup2", "rw");
      const std::string controllers = layout == Layout::kV2 ? "cpuset cpu io memory pids\n" : "\n";
      root_.write("sys/fs/cgroup/unified/cgroup.controllers", controllers);
      root_.write("sys/fs/cgroup/unified/cgroup.subtree_control",
                  layout == Layout::kV2 ? "memory pids\n" : "\n");
      root_.write("sys/fs/cgroup/unified/cgroup.procs", "");
      root_.write("sys/fs/cgroup/unified/session/cgroup.controllers",
                  layout == Layout::kV2 ? "memory pids\n" : "\n");
      root_.write("sys/fs/cgroup/unified/session/cgroup.subtree_control", "\n");
      root_.write("sys/fs/cgroup/unified/session/cgroup.procs", "");
    }
    root_.write("proc/self/cgroup", groups);
    root_.write("proc/self/mountinfo", mounts);
  }

  [[nodiscard]] StageOptions options() const {
    return {.nvml = "/no/such/library",
            .mps_control = {},
            .root = root_.path(),
            .state = state_.path(),
            .locks = state_.path() / "locks",
            .label = "w 7",
            .holder = "plan.csv, workload 7",
            .data = {},
            .cancelled = {}};
  }
  [[nodiscard]] UndoOptions undo_options() const {
    return {.state = state_.path(),
            .root = root_.path(),
            .nvml = "/no/such/library",
            .mps_control = {},
            .dry_run = false,
            .end_runs = false};
  }
  // Returns every file and directory of the control groups with its content.
  [[nodiscard]] std::map<std::string, std::string> groups() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_.path() / "sys/fs/cgroup")) {
      const std::string name = entry.path().lexically_relative(root_.path()).string();
      found[name] = entry.is_directory() ? "" : sys::read_file(entry.path()).value();
    }
    return found;
  }
  // Returns the names of groups that Corral made, with their hierarchy.
  [[nodiscard]] std::vector<std::string> made() const {
    std::vector<std::string> found;
    for (const auto& [path, content] : groups()) {
      if (fs::path(path).filename().string().starts_with("corral-")) found.push_back(path);
    }
    return found;
  }
  // Returns a control file of the run's group, from any hierarchy.
  [[nodiscard]] std::string control(int run, const std::string& file) const {
    const std::string middle = "/corral-w_7-" + std::to_string(run) + "-";
    for (const auto& [path, content] : groups()) {
      if (path.find(middle) != std::string::npos && path.ends_with("/" + file)) return content;
    }
    return "(none)";
  }
  [[nodiscard]] const collect::FakeRoot& root() const { return root_; }
  [[nodiscard]] const fs::path& state() const { return state_.path(); }

 private:
  static std::string mount_line(const std::string& folder, const std::string& type,
                                const std::string& options) {
    return "30 20 0:26 / /sys/fs/cgroup/" + folder + " rw - " + type + " " + type + " " + options +
           "\n";
  }
  collect::FakeRoot root_;
  collect::FakeRoot state_;
};

std::vector<Share> two_shares() {
  Share first;
  first.cpus = {1};
  first.memory_bytes = 64 << 20;
  Share second;
  second.cpu_count = 2;
  second.cpu_quota = 1.5;
  second.io_weight = 50;
  return {first, second};
}

class StageTest : public ::testing::TestWithParam<Layout> {
 protected:
  Machine machine_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Layouts, StageTest,
                         ::testing::Values(Layout::kV1, Layout::kV2, Layout::kHybrid));

TEST_P(StageTest, SetsEachLimitAndPutsAllBack) {
  const auto before = machine_.groups();
  auto stage = Stage::plan(two_shares(), machine_.options());
  ASSERT_TRUE(stage) << stage.error().message;
  EXPECT_EQ(machine_.groups(), before) << "plan changed something";
  EXPECT_EQ(stage->changes().size(), 3U);
  Journal journal = Journal::open(machine_.state()).value();
  const auto set = stage->set(journal);
  ASSERT_TRUE(set) << set.error().message;
  const bool v2 = GetParam() == Layout::kV2;
  EXPECT_EQ(machine_.control(0, "cpuset.cpus"), "1");
  EXPECT_EQ(machine_.control(1, "cpuset.cpus"), "2-3");
  EXPECT_EQ(machine_.control(0, "cpuset.mems"), v2 ? "(none)" : "0");
  EXPECT_EQ(machine_.control(0, v2 ? "memory.max" : "memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(machine_.control(1, v2 ? "memory.max" : "memory.limit_in_bytes"), "(none)");
  if (v2) {
    EXPECT_EQ(machine_.control(1, "cpu.max"), "150000 100000");
    EXPECT_EQ(machine_.control(1, "io.weight"), "default 50");
  } else {
    EXPECT_EQ(machine_.control(1, "cpu.cfs_quota_us"), "150000");
    EXPECT_EQ(machine_.control(0, "cpu.cfs_quota_us"), "(none)");
    EXPECT_EQ(machine_.control(1, "blkio.weight"), "50");
  }
  EXPECT_EQ(stage->seats()[0].cpus, std::vector{1});
  EXPECT_EQ(stage->seats()[1].cpus, (std::vector{2, 3}));
  EXPECT_EQ(stage->housekeeping(), std::vector{0});
  const auto cleared = stage->clear(journal);
  ASSERT_TRUE(cleared) << cleared.error().message;
  EXPECT_TRUE(machine_.made().empty());
  ASSERT_TRUE(journal.close());
}

TEST_P(StageTest, WithoutLimitsAGroupOnlyCounts) {
  auto stage = Stage::plan({Share()}, machine_.options());
  ASSERT_TRUE(stage) << stage.error().message;
  Journal journal = Journal::open(machine_.state()).value();
  ASSERT_TRUE(stage->set(journal));
  EXPECT_FALSE(machine_.made().empty());
  for (const std::string& path : machine_.made()) {
    const bool shares_out_time = path.find("/cpu/") != std::string::npos ||
                                 path.find("/cpuset/") != std::string::npos ||
                                 path.find("/blkio/") != std::string::npos;
    EXPECT_FALSE(shares_out_time) << path;
  }
  EXPECT_TRUE(stage->seats()[0].cpus.empty());
  EXPECT_TRUE(stage->seats()[0].notes.empty());
  ASSERT_TRUE(stage->clear(journal));
  EXPECT_TRUE(stage->clear(journal)) << "not idempotent";
}

// Goes the whole way in a process that dies at the named place after a number of passes; another
// process undoes its changes.
TEST_P(StageTest, AKillAnywhereIsUndone) {
  const auto sorted_words = [](std::map<std::string, std::string> groups) {
    for (auto& [path, content] : groups) {
      if (path.ends_with("cgroup.subtree_control")) content.clear();  // compared by hand below
    }
    return groups;
  };
  const auto before = sorted_words(machine_.groups());
  int killed = 0;
  for (const char* point : {"journal.written", "journal.durable", "group.enabled",
                            "group.directory", "group.made", "stage.devices", "undo.put_back"}) {
    for (int passes = 0;; ++passes) {
      const pid_t child = ::fork();
      if (child == 0) {
        failpoint::arm(std::string(point) + ":" + std::to_string(passes));
        auto stage = Stage::plan(two_shares(), machine_.options());
        Journal journal = Journal::open(machine_.state()).value();
        if (!stage->set(journal) || !stage->clear(journal) || !journal.close()) std::_Exit(1);
        std::_Exit(0);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      ASSERT_TRUE(WIFEXITED(status));
      if (WEXITSTATUS(status) == 0) break;
      ASSERT_EQ(WEXITSTATUS(status), failpoint::kExitStatus) << point << passes;
      ++killed;
      const UndoReport report = undo_all(machine_.undo_options());
      EXPECT_TRUE(report.complete()) << point << passes;
      EXPECT_EQ(sorted_words(machine_.groups()), before) << point << passes;
      EXPECT_TRUE(Journal::files(machine_.state()).value_or(std::vector<fs::path>()).empty())
          << point << passes;
      EXPECT_TRUE(undo_all(machine_.undo_options()).lines.empty()) << "not idempotent";
    }
  }
  EXPECT_GT(killed, 20);
}

TEST(Stage, OfV2EnablesWhatIsMissingAtTheTopAndTakesItBack) {
  const Machine machine(Layout::kV2);
  auto stage = Stage::plan(two_shares(), machine.options());
  ASSERT_TRUE(stage);
  Journal journal = Journal::open(machine.state()).value();
  ASSERT_TRUE(stage->set(journal));
  // A fake file keeps the last word that was written to it.
  const auto last_word = [&] {
    return sys::read_file(machine.root().path() / "sys/fs/cgroup/unified/cgroup.subtree_control")
        .value();
  };
  EXPECT_EQ(last_word().front(), '+');
  ASSERT_EQ(machine.made().size(), 2U);
  EXPECT_TRUE(machine.made()[0].starts_with("sys/fs/cgroup/unified/corral-"));
  std::vector<std::string> kinds;
  for (const Standing& standing : journal.standing()) kinds.push_back(standing.change.kind);
  EXPECT_EQ(std::ranges::count(kinds, "subtree-control"), 2);
}

TEST(Stage, SaysAllThatDoesNotFitAtOnce) {
  const Machine machine(Layout::kHybrid);
  machine.root().write("proc/self/cgroup", "0::/session\n");
  Share first;
  first.cpus = {9};
  Share second;
  second.memory_bytes = 1 << 20;
  second.io_weight = 3;
  const auto stage = Stage::plan({first, second}, machine.options());
  ASSERT_FALSE(stage);
  const std::string& text = stage.error().message;
  EXPECT_NE(text.find("run 0: CPU 9 cannot be used here"), std::string::npos) << text;
  EXPECT_NE(text.find("run 1: memory limit: "), std::string::npos) << text;
  EXPECT_NE(text.find("run 1: IO weight: "), std::string::npos) << text;
}

TEST(Stage, ACpuSetWithoutGroupsIsAnAffinityAndSaysSo) {
  const Machine machine(Layout::kHybrid);
  machine.root().write("proc/self/cgroup", "");
  machine.root().write("proc/self/mountinfo", "");
  Share share;
  share.cpus = {2};
  const auto stage = Stage::plan({share}, machine.options());
  ASSERT_TRUE(stage) << stage.error().message;
  EXPECT_EQ(stage->seats()[0].cpus, std::vector{2});
  EXPECT_TRUE(stage->seats()[0].cgroup.empty());
  ASSERT_EQ(stage->seats()[0].notes.size(), 1U);
  EXPECT_NE(stage->seats()[0].notes[0].find("no control groups are mounted"), std::string::npos);
}

TEST(Stage, AnotherSchedulerIsNamedAndNothingIsLeft) {
  const Machine machine(Layout::kV1);
  const auto other = DeviceLocks::take(machine.state() / "locks", {"cpus"}, "other.csv");
  ASSERT_TRUE(other);
  const auto before = machine.groups();
  auto stage = Stage::plan(two_shares(), machine.options());
  Journal journal = Journal::open(machine.state()).value();
  const auto set = stage->set(journal);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kUnavailable);
  EXPECT_NE(set.error().message.find("cpus: used by other.csv (process "), std::string::npos);
  EXPECT_EQ(machine.groups(), before);
}

TEST(Stage, AFailureHalfwayPutsBackWhatWasMade) {
  const Machine machine(Layout::kV1);
  auto stage = Stage::plan(two_shares(), machine.options());
  ASSERT_TRUE(stage);
  const auto before = machine.groups();
  // The second run's quota cannot be made: its directory is taken by a file.
  const std::string target = stage->seats()[1].cgroup;
  const fs::path taken(target.substr(0, target.find(':')));
  machine.root().write(taken.lexically_relative(machine.root().path()).string(), "");
  Journal journal = Journal::open(machine.state()).value();
  const auto set = stage->set(journal);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("run 1: "), std::string::npos) << set.error().message;
  fs::remove(taken);
  EXPECT_EQ(machine.groups(), before);
  EXPECT_TRUE(journal.close());
}

TEST(Stage, DropsAndFillsThePageCache) {
  const Machine machine(Layout::kV1);
  const collect::FakeRoot data({{"a/1", std::string(300, 'x')}, {"b", "y"}});
  StageOptions options = machine.options();
  options.data = {data.path()};
  Share share;
  share.cache = plan::CacheState::kCold;
  Share warm;
  warm.cache = plan::CacheState::kWarm;
  auto stage = Stage::plan({share, warm}, options);
  ASSERT_TRUE(stage);
  EXPECT_EQ(stage->changes().back(), "page cache: filled with the runs' data");
  Journal journal = Journal::open(machine.state()).value();
  ASSERT_TRUE(stage->set(journal));
  EXPECT_EQ(sys::read_file(machine.root().path() / "proc/sys/vm/drop_caches").value(), "3");
  EXPECT_TRUE(stage->notes().empty()) << stage->notes().front();
}

TEST(Undo, LeavesALivingOwnerAlone) {
  const Machine machine(Layout::kV1);
  auto stage = Stage::plan(two_shares(), machine.options());
  Journal journal = Journal::open(machine.state()).value();
  ASSERT_TRUE(stage->set(journal));
  const UndoReport report = undo_all(machine.undo_options());
  EXPECT_TRUE(report.lines.empty());
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_FALSE(machine.made().empty());
}

TEST(Undo, WaitsForARunThatStillRuns) {
  const Machine machine(Layout::kV1);
  {
    auto stage = Stage::plan(two_shares(), machine.options());
    Journal journal = Journal::open(machine.state()).value();
    ASSERT_TRUE(stage->set(journal));
  }
  const auto all = machine.groups();
  const std::string group = machine.made().front();
  machine.root().write(group + "/cgroup.procs", std::to_string(::getpid()) + "\n");
  const UndoReport report = undo_all(machine.undo_options());
  EXPECT_FALSE(report.complete());
  ASSERT_EQ(report.lines.size(), 2U);
  EXPECT_EQ(report.lines[0].state, UndoState::kInUse);
  EXPECT_NE(report.lines[0].reason.find("process " + std::to_string(::getpid())),
            std::string::npos);
  EXPECT_EQ(machine.made().size(), std::ranges::count_if(all, [](const auto& one) {
              return fs::path(one.first).filename().string().starts_with("corral-");
            }));
  machine.root().write(group + "/cgroup.procs", "");
  EXPECT_TRUE(undo_all(machine.undo_options()).complete());
  EXPECT_TRUE(machine.made().empty());
}

TEST(Undo, DryRunSaysWhatItWouldDoAndDoesNot) {
  const Machine machine(Layout::kV1);
  {
    auto stage = Stage::plan(two_shares(), machine.options());
    Journal journal = Journal::open(machine.state()).value();
    ASSERT_TRUE(stage->set(journal));
  }
  const auto before = machine.groups();
  UndoOptions options = machine.undo_options();
  options.dry_run = true;
  const UndoReport report = undo_all(options);
  ASSERT_EQ(report.lines.size(), 2U);
  EXPECT_EQ(report.lines[0].state, UndoState::kPutBack);
  EXPECT_EQ(machine.groups(), before);
  EXPECT_EQ(Journal::files(machine.state()).value_or(std::vector<fs::path>()).size(), 1U);
}

TEST(Undo, AnEntryOfAnEarlierBootIsVoidUnlessItOutlivesIt) {
  const Machine machine(Layout::kV1);
  machine.root().write("sys/fs/cgroup/memory/corral-x-01234567/cgroup.procs", "");
  const std::string target =
      (machine.root().path() / "sys/fs/cgroup/memory/corral-x-01234567").string();
  fs::create_directories(machine.state() / "undo");
  const auto journal_of = [&](const char* outlives) {
    return R"({"corral_undo":1,"pid":5,"boot_id":"00000000000000000000000000000000"})"
           "\n"
           R"({"entry":1,"kind":"cgroup","words":"group x","outlives_reboot":)" +
           std::string(outlives) + R"(,"target":")" + target + "\"}\n";
  };
  const fs::path file = machine.state() / "undo/1.undo";
  ASSERT_TRUE(sys::replace_file(file, journal_of("false")));
  ASSERT_EQ(undo_all(machine.undo_options()).lines.at(0).state, UndoState::kVoid);
  EXPECT_EQ(machine.made().size(), 1U);
  ASSERT_TRUE(sys::replace_file(file, journal_of("true")));
  ASSERT_EQ(undo_all(machine.undo_options()).lines.at(0).state, UndoState::kPutBack);
  EXPECT_TRUE(machine.made().empty());
}

TEST(Undo, TouchesNothingThatIsNoGroupOfOurs) {
  const Machine machine(Layout::kV1);
  const std::string other = (machine.root().path() / "sys/fs/cgroup/memory/session").string();
  fs::create_directories(machine.state() / "undo");
  ASSERT_TRUE(sys::replace_file(machine.state() / "undo/1.undo",
                                R"({"entry":1,"kind":"cgroup","target":")" + other + "\"}\n" +
                                    R"({"entry":2,"kind":"from-tomorrow","words":"new"})"
                                    "\n"));
  const auto before = machine.groups();
  const UndoReport report = undo_all(machine.undo_options());
  EXPECT_EQ(machine.groups(), before);
  ASSERT_EQ(report.lines.size(), 2U);
  EXPECT_EQ(report.lines[0].state, UndoState::kFailed);
  EXPECT_EQ(report.lines[1].state, UndoState::kNothingLeft);
  EXPECT_EQ(Journal::files(machine.state()).value_or(std::vector<fs::path>()).size(), 1U);
}

TEST(Undo, TakesBackTheControllersThatWereEnabledAndNoOthers) {
  const collect::FakeRoot root({{"group/cgroup.subtree_control", "memory cpuset pids cpu\n"},
                                {"group/other/cgroup.subtree_control", "cpu\n"}});
  const std::string target = (root.path() / "group").string();
  const collect::FakeRoot state(
      {{"undo/1.undo", R"({"entry":1,"kind":"subtree-control","after":"cpuset io cpu","target":")" +
                           target + "\"}\n"}});
  const UndoReport report = undo_all({.state = state.path(), .nvml = {}, .mps_control = {}});
  ASSERT_EQ(report.lines.size(), 1U);
  EXPECT_EQ(report.lines[0].state, UndoState::kPutBack);
  EXPECT_EQ(sys::read_file(root.path() / "group/cgroup.subtree_control").value(), "-cpuset");
}

TEST(Undo, ADamagedJournalIsPutAsideAfterwards) {
  const collect::FakeRoot state({{"undo/1.undo", "{\"corral_undo\":1}\nrubbish\n"}});
  const UndoReport report = undo_all({.state = state.path(), .nvml = {}, .mps_control = {}});
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_TRUE(fs::exists(state.path() / "undo/1.undo.damaged"));
  EXPECT_TRUE(Journal::files(state.path()).value_or(std::vector<fs::path>()).empty());
}

TEST(DeviceLocks, ExcludeEachOtherAndNameTheHolder) {
  const collect::FakeRoot directory;
  auto first = DeviceLocks::take(directory.path(), {"GPU-2", "GPU-1"}, "one.csv\nwith\x1b lines");
  ASSERT_TRUE(first);
  const auto second = DeviceLocks::take(directory.path(), {"GPU-3", "GPU-2"}, "two.csv");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("GPU-2: used by one.csvwith lines (process "),
            std::string::npos)
      << second.error().message;
  EXPECT_TRUE(DeviceLocks::take(directory.path(), {"GPU-3"}, "three.csv")) << "all or none";
  first->release();
  EXPECT_TRUE(DeviceLocks::take(directory.path(), {"GPU-2"}, "two.csv"));
}

TEST(Offers, NameTheMeansOrTheReason) {
  const auto there = [](const Machine& machine) {
    std::string list;
    for (const Offer& offer : offers(machine.root().path())) list += offer.there ? '1' : '0';
    return list;
  };
  EXPECT_EQ(there(Machine(Layout::kV1)), "111111");
  EXPECT_EQ(there(Machine(Layout::kV2)), "111111");
  const Machine bare(Layout::kHybrid);
  bare.root().write("proc/self/cgroup", "0::/session\n");
  EXPECT_EQ(there(bare), "000011");
  EXPECT_NE(
      offers(bare.root().path())[0].detail.find("CPUs 0-3, 4 cores, NUMA nodes 0, by affinity"),
      std::string::npos);
}

TEST(AccountGroup, AScopeIsAskedForWhereNoGroupMayBeMade) {
  const Machine machine(Layout::kV2);
  machine.root().remove("sys/fs/cgroup/unified");
  const collect::FakeRoot tools(
      {{"busctl", "#!/bin/sh\necho \"$@\" > " + (machine.state() / "said").string() + "\n"}});
  fs::permissions(tools.path() / "busctl", fs::perms::owner_all);
  machine.root().write("proc/4711/cgroup", "0::/user.slice/app.slice/corral-run1.scope\n");
  Journal none = Journal::open(machine.state()).value();
  EXPECT_FALSE(account_group(none, {.root = machine.root().path(), .label = "run0", .busctl = "x"}))
      << "a login session's, or a batch system's";
  machine.root().write("proc/self/cgroup", "0::/user.slice/user@1000.service/app.slice/shell\n");
  Journal journal = Journal::open(machine.state()).value();
  auto group = account_group(journal, {.root = machine.root().path(),
                                       .label = "run1",
                                       .busctl = (tools.path() / "busctl").string(),
                                       .patience = std::chrono::seconds(60)});
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_TRUE(group->target().empty());
  ASSERT_TRUE(group->enter(4711));
  const std::string said = sys::read_file(machine.state() / "said").value();
  EXPECT_NE(
      said.find("StartTransientUnit ssa(sv)a(sa(sv)) corral-run1.scope fail 5 PIDs au 1 4711"),
      std::string::npos)
      << said;
}

// The tool closes its output long before its end.
TEST(AccountGroup, AToolThatDoesNotEndHoldsNoRunUp) {
  const Machine machine(Layout::kV2);
  machine.root().remove("sys/fs/cgroup/unified");
  machine.root().write("proc/self/cgroup", "0::/user.slice/user@1000.service/app.slice/shell\n");
  const std::string pid = (machine.state() / "pid").string();
  const collect::FakeRoot tools(
      {{"busctl", "#!/bin/sh\necho $$ > " + pid + "\nexec sleep 30 >&- 2>&-\n"}});
  fs::permissions(tools.path() / "busctl", fs::perms::owner_all);
  Journal journal = Journal::open(machine.state()).value();
  auto group = account_group(journal, {.root = machine.root().path(),
                                       .label = "run1",
                                       .busctl = (tools.path() / "busctl").string(),
                                       .patience = std::chrono::milliseconds(200)});
  ASSERT_TRUE(group) << group.error().message;
  const auto entered = group->enter(4711);
  ASSERT_FALSE(entered);
  EXPECT_NE(entered.error().message.find("did not answer in time"), std::string::npos)
      << entered.error().message;
  // The tool was killed, and reaped unless the machine was very slow.
  const auto number = parse_int(trim(sys::read_file(pid).value_or("")));
  int status = 0;
  if (number && ::waitpid(static_cast<pid_t>(*number), &status, 0) > 0) {
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
  }
}

// After the command's end its descendants cannot be found by it any more.
TEST(EndCommands, EndsWhatTheyHaveStartedThoughItIgnoresTheFirstSignal) {
  std::array<int, 2> alive{};
  ASSERT_EQ(::pipe(alive.data()), 0);
  const pid_t command = ::fork();
  if (command == 0) {
    ::close(alive[0]);
    ::signal(SIGTERM, SIG_IGN);
    if (::fork() > 0) ::signal(SIGTERM, SIG_DFL);
    std::ignore = ::write(alive[1], ".", 1);
    for (;;) ::pause();
  }
  ::close(alive[1]);
  char byte = 0;
  for (int both = 0; both < 2; ++both) ASSERT_EQ(::read(alive[0], &byte, 1), 1);
  const sys::ProcessIdentity identity = sys::identity_of(command).value();
  const std::vector<pid_t> started = sys::descendants_of(command);
  end_commands({identity}, std::chrono::milliseconds(50));
  pollfd gone{.fd = alive[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&gone, 1, 20'000), 1) << "the pipe is closed with the last of them";
  int status = 0;
  EXPECT_EQ(::waitpid(command, &status, 0), command);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  ::close(alive[0]);
  if (HasFailure())
    for (const pid_t pid : started) ::kill(pid, SIGKILL);
}

TEST(AccountGroup, IsEnteredInEachHierarchy) {
  const Machine machine(Layout::kHybrid);
  Journal journal = Journal::open(machine.state()).value();
  auto group = account_group(
      journal, {.root = machine.root().path(), .label = "run1", .busctl = "/bin/false"});
  ASSERT_TRUE(group) << group.error().message;
  ASSERT_TRUE(group->enter(4711));
  int entered = 0;
  for (const auto& [path, content] : machine.groups()) {
    if (path.find("/corral-run1-") != std::string::npos && path.ends_with("cgroup.procs"))
      entered += content == "4711" ? 1 : 0;
  }
  EXPECT_EQ(entered, 4);  // memory, cpuacct, freezer, unified
  group->release_members();
  EXPECT_EQ(machine.groups().at("sys/fs/cgroup/memory/session/cgroup.procs"), "4711");
  EXPECT_EQ(machine.groups().at("sys/fs/cgroup/unified/session/cgroup.procs"), "4711");
}

TEST(AccountGroup, OfARunInsideARunIsBelowThatOnes) {
  const Machine machine(Layout::kV2);
  const std::string outer = "sys/fs/cgroup/unified/session/corral-outer-00000000";
  for (const char* file : {"cgroup.procs", "cgroup.controllers", "cgroup.subtree_control"})
    machine.root().write(outer + "/" + file, "\n");
  machine.root().write("proc/self/cgroup", "0::/session/corral-outer-00000000\n");
  Journal journal = Journal::open(machine.state()).value();
  const auto group = account_group(
      journal, {.root = machine.root().path(), .label = "inner", .busctl = "/bin/false"});
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_NE(group->target().find("corral-outer-00000000/corral-inner-"), std::string::npos)
      << group->target();
}

}  // namespace
}  // namespace corral::collocate
