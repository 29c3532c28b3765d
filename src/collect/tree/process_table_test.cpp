#include "collect/tree/process_table.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "collect/test_roots.h"
#include "collect/tree/perf_counters.h"
#include "collect/tree/tree_listener.h"

namespace corral::collect::tree {
namespace {

// The table of root_nasty: 1000 is the supervisor, 2000 the run; 2002 is listed but gone, 2003 a
// zombie, 2010 the child of a second thread whose io cannot be read, 3000 and 3001 helpers of the
// supervisor, 3002 an orphan of the run, 4000 unreadable.
ProcessTable nasty_table() {
  return ProcessTable(
      {.root = fixture_root("root_nasty"), .run_pid = 2000, .supervisor_pid = 1000});
}

std::uint64_t us_per_tick() {
  return 1'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
}

TEST(ProcessTable, FindsTheRunsProcessesAndNoOthers) {
  ProcessTable table = nasty_table();
  const TreeSums& sums = table.walk();
  EXPECT_EQ(sums.processes, 4u) << "2000, 2001, 2010 and 3002";
  EXPECT_EQ(sums.threads, 3u + 65 + 2 + 1);
  EXPECT_EQ(sums.resident_pages, 1000u + 2000 + 3000 + 500);
  EXPECT_EQ(sums.peak_resident_kib, 10000u);
}

TEST(ProcessTable, SumsTheCountersOfLivingAndZombies) {
  ProcessTable table = nasty_table();
  const Counters& c = table.walk().counters;
  EXPECT_EQ(c[kUserMicros], (1100u + 7 + 70) * us_per_tick());
  EXPECT_EQ(c[kSystemMicros], (2200u + 8 + 80) * us_per_tick());
  EXPECT_EQ(c[kMinorFaults], 11u + 100 + 1000 + 10000 + 5);
  EXPECT_EQ(c[kMajorFaults], 22u);
  EXPECT_EQ(c[kReadSyscallBytes], 1111u);
  EXPECT_EQ(c[kWriteBlockBytes], 6666u);
}

TEST(ProcessTable, AnotherWalkChangesNothing) {
  ProcessTable table = nasty_table();
  const TreeSums first = table.walk();
  const TreeSums& second = table.walk();
  EXPECT_EQ(second.counters, first.counters);
  EXPECT_EQ(second.processes, first.processes);
}

TEST(ProcessTable, IsEmptyWhereTheRunIsUnknown) {
  ProcessTable table({.root = fixture_root("root_vm"), .run_pid = 77, .supervisor_pid = 1});
  EXPECT_EQ(table.walk().processes, 0u);
}

// A run of one process that starts another, from its second thread, on request.
class Starter {
 public:
  Starter() {
    EXPECT_EQ(::pipe(order_.data()), 0);
    EXPECT_EQ(::pipe(done_.data()), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::thread(&Starter::serve, this).join();
    ::_exit(0);
  }
  ~Starter() {
    ::kill(-pid_, SIGKILL);  // and the processes that it started
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int end : {order_[0], order_[1], done_[0], done_[1]}) ::close(end);
  }
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;

  void start_one() const {
    char c = 0;
    ASSERT_EQ(::write(order_[1], &c, 1), 1);
    ASSERT_EQ(::read(done_[0], &c, 1), 1);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  void serve() const {
    char c = 0;
    while (::read(order_[0], &c, 1) == 1) {
      if (::fork() == 0) {
        for (;;) ::pause();
      }
      if (::write(done_[1], &c, 1) != 1) return;
    }
  }
  std::array<int, 2> order_{};
  std::array<int, 2> done_{};
  pid_t pid_ = 0;
};

TEST(ProcessTable, FindsWhatStartsAfterNothingDidForLong) {
  const Starter run;
  ProcessTable table({.run_pid = run.pid(), .supervisor_pid = ::getpid()});
  for (std::uint64_t started = 1; started < 4; ++started) {
    for (int quiet = 0; quiet < 25; ++quiet) EXPECT_EQ(table.walk().processes, started);
    run.start_one();
    EXPECT_EQ(table.walk().processes, started + 1);
  }
}

TEST(ProcessFiles, TheNewestTaskIsAnotherOneAfterEachStart) {
  const ProcessFiles files("/");
  const auto before = files.newest_task();
  if (!before) GTEST_SKIP() << "/proc/loadavg is not the kernel's here";
  std::thread([] {}).join();
  EXPECT_NE(files.newest_task(), before);
  EXPECT_EQ(ProcessFiles(fixture_root("root_vm")).newest_task(), std::nullopt) << "no procfs";
}

bool is_missing(const SeriesTable& series, std::string_view source) {
  return std::ranges::any_of(series.missing(),
                             [&](const Unavailable& u) { return u.source == source; });
}

TEST(TreeListener, ReadsCpuTimeAndFaultsFromProcWithoutPerf) {
  SeriesTable series;
  const auto listener = open_tree_listener(
      {.root = fixture_root("root_nasty"), .run_pid = 2000, .supervisor_pid = 1000}, series);
  EXPECT_TRUE(series.series(kFastGroup).empty());
  const Values v = sample_once(*listener, series, kSlowGroup);
  EXPECT_DOUBLE_EQ(v.at("run.cpu.used"), v.at("run.cpu.user") + v.at("run.cpu.system"));
  EXPECT_EQ(v.at("run.memory.major_faults"), 22);
  EXPECT_FALSE(v.contains("run.scheduler.context_switches"));
  EXPECT_EQ(series.missing().size(), kPerfEvents + 2)
      << "each event with its reason, and the hardware's and the threads' together";
  EXPECT_TRUE(is_missing(series, "run.pmu.*"));
  EXPECT_TRUE(is_missing(series, "run.thread.*")) << "no schedstat";
}

TEST(TreeListener, SaysWhyIoIsMissing) {
  SeriesTable series;
  const auto listener =
      open_tree_listener({.root = fixture_root("root_nasty"), .run_pid = 2010}, series);
  EXPECT_FALSE(sample_once(*listener, series, kSlowGroup).contains("run.io.read_block_bytes"));
  EXPECT_TRUE(is_missing(series, "run.io.*"));
}

TEST(TreeListener, IsNotThereWithoutARun) {
  SeriesTable series;
  EXPECT_EQ(open_tree_listener({.run_pid = 0}, series), nullptr);
  ASSERT_EQ(series.missing().size(), 1u);
  EXPECT_EQ(series.missing()[0].reason, "there is no run");
}

}  // namespace
}  // namespace corral::collect::tree
