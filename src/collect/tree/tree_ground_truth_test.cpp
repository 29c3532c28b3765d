// Listener "tree" against a process whose use of the machine is known (fake_training.cpp), within 2
// %, for each source of the number. The trainee answers when it is done, so nothing here waits for
// luck.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "collect/test_roots.h"
#include "collect/tree/perf_counters.h"
#include "collect/tree/thread_table.h"
#include "collect/tree/tree_listener.h"
#include "core/test_paths.h"
#include "sys/clock.h"

namespace corral::collect {
namespace {

namespace fs = std::filesystem;

struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0) std::abort();
    read.reset(fds[0]);
    write.reset(fds[1]);
  }
  sys::Fd read, write;
};

// The test stands in for the supervisor: subreaper, perf opened on the child before its exec.
class Trainee : public testing::Test {
 protected:
  void SetUp() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    file_ = fs::temp_directory_path() / ("corral-trainee-" + std::to_string(::getpid()));
    start();
    listener_ = open_tree_listener(
        {.run_pid = pid_, .supervisor_pid = ::getpid(), .perf = with_perf_ ? &perf_ : nullptr},
        table_);
    exec_now_.write.reset();
    ask("burn 0");
  }

  void TearDown() override {
    if (pid_ > 0) end();
    fs::remove(file_);
  }

  void start() {
    const std::string trainee = built("src/collect/corral_tree_trainee");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      char c = 0;
      exec_now_.write.reset();
      [[maybe_unused]] const ssize_t n = ::read(exec_now_.read.get(), &c, 1);
      ::dup2(commands_.read.get(), STDIN_FILENO);
      ::dup2(answers_.write.get(), STDOUT_FILENO);
      ::execl(trainee.c_str(), trainee.c_str(), file_.c_str(), nullptr);
      ::_exit(127);
    }
    perf_ = PerfCounters::open(pid_);
  }

  void end() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  // The number of the answer.
  std::int64_t ask(const std::string& command) {
    tell(command);
    return hear();
  }

  void tell(const std::string& command) {
    const std::string line = command + "\n";
    EXPECT_EQ(::write(commands_.write.get(), line.data(), line.size()),
              static_cast<ssize_t>(line.size()));
  }

  [[nodiscard]] bool has_answered() const {
    pollfd fd{.fd = answers_.read.get(), .events = POLLIN, .revents = 0};
    return ::poll(&fd, 1, 0) == 1;
  }

  std::int64_t hear() {
    std::string answer;
    for (char c = 0; ::read(answers_.read.get(), &c, 1) == 1 && c != '\n';) answer += c;
    EXPECT_TRUE(answer.starts_with("ok ")) << answer;
    return answer.size() > 3 ? std::stoll(answer.substr(3)) : 0;
  }

  Values sample() {
    Values values = sample_once(*listener_, table_, kFastGroup);
    values.merge(sample_once(*listener_, table_, kSlowGroup));
    return values;
  }

  bool on_memory_filesystem() {
    const auto kind = sys::filesystem_of(file_);
    return !kind || kind->name == "tmpfs" || kind->name == "overlay";
  }

  // Returns true if perf counts that metric here; if not, why (the reason is in the skipped test's
  // output).
  [[nodiscard]] bool by_perf(std::string_view metric) const {
    return std::ranges::any_of(table_.series(kFastGroup),
                               [&](const SeriesInfo& s) { return s.metric->name == metric; });
  }
  [[nodiscard]] std::string why_not(std::string_view metric) const {
    for (const Unavailable& u : table_.missing()) {
      if (u.source == metric) return u.reason;
    }
    return "";
  }

  static void expect_near(double measured, double truth, const char* what) {
    EXPECT_NEAR(measured, truth, 0.02 * truth) << what;
  }

  // On a virtual machine perf's clock also runs while the host has taken the CPU away.
  void expect_near_by_perf(double measured, double truth) const {
    EXPECT_GT(measured, 0.98 * truth) << "perf";
    EXPECT_LT(measured, 1.02 * truth + 0.02 + stolen() - stolen_before_) << "perf";
  }

  // Seconds, of all CPUs; in steps of 10 ms.
  static double stolen() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    std::array<double, 8> ticks{};
    stat >> cpu;
    for (double& number : ticks) stat >> number;
    return ticks[7] / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

  bool with_perf_ = true;
  double stolen_before_ = stolen();
  fs::path file_;
  Pipe exec_now_, commands_, answers_;
  pid_t pid_ = -1;
  PerfCounters perf_;
  SeriesTable table_;
  std::unique_ptr<Listener> listener_;
};

#define REQUIRE_PERF(metric) \
  if (!by_perf(metric)) GTEST_SKIP() << why_not(metric)

TEST_F(Trainee, CpuTimeOfProcessThreadsAndExitedChildren) {
  const Values before = sample();
  const double truth =
      static_cast<double>(ask("burn 800000000") + ask("threads 200000000") + ask("children 10")) *
      1e-9;
  const Values after = sample();
  ASSERT_GE(truth, 2.1);
  const auto grew = [&](const char* name) { return after.at(name) - before.at(name); };
  expect_near(grew("run.cpu.user") + grew("run.cpu.system"), truth, "/proc");
  EXPECT_GT(grew("run.cpu.user"), 0.8 * truth);
  REQUIRE_PERF("run.cpu.used");
  expect_near_by_perf(grew("run.cpu.used"), truth);
}

TEST_F(Trainee, MemoryTouchedAndItsFaults) {
  const Values before = sample();
  const auto truth = static_cast<double>(ask("touch 134217728"));
  const Values after = sample();
  expect_near(after.at("run.memory.rss") - before.at("run.memory.rss"), truth, "statm");
  expect_near(after.at("run.memory.rss_peak") - before.at("run.memory.rss_peak"), truth, "VmHWM");
  expect_near(after.at("run.memory.minor_faults") - before.at("run.memory.minor_faults"),
              truth / 4096, "faults");
}

TEST_F(Trainee, BytesWrittenAndRead) {
  const Values before = sample();
  const auto written = static_cast<double>(ask("write 33554432"));
  const auto read = static_cast<double>(ask("read"));
  const Values after = sample();
  const auto grew = [&](const char* name) { return after.at(name) - before.at(name); };
  expect_near(grew("run.io.write_syscall_bytes"), written, "wchar");
  expect_near(grew("run.io.read_syscall_bytes"), read, "rchar");
  expect_near(grew("run.io.write_syscalls"), written / (64 << 10), "syscw");
  if (on_memory_filesystem()) GTEST_SKIP() << "no block device below the temporary directory";
  expect_near(grew("run.io.write_block_bytes"), written, "write_bytes");
  expect_near(grew("run.io.read_block_bytes"), read, "read_bytes");
}

TEST_F(Trainee, BytesOfChildrenThatLiveBetweenTwoWalks) {
  const Values before = sample();
  const auto written = static_cast<double>(ask("writers 8"));
  const Values after = sample();
  expect_near(after.at("run.io.write_syscall_bytes") - before.at("run.io.write_syscall_bytes"),
              written, "wchar");
  EXPECT_EQ(after.at("run.processes"), 1);
}

TEST_F(Trainee, SumsNeverFallWhileProcessesComeAndGo) {
  const Values first = sample();
  tell("children 20");
  std::size_t walks = 0;
  double most_processes = 0;
  for (Values last = first; !has_answered(); ++walks) {
    const Values now = sample();
    for (const auto& [name, value] : now) {
      const std::string metric = name.substr(0, name.find('/'));
      const bool counter = metric::find_metric(metric)->kind == metric::Kind::kCounter;
      EXPECT_TRUE(!counter || !last.contains(name) || value >= last.at(name)) << name;
    }
    EXPECT_EQ(now.contains("run.cpu.used"), first.contains("run.cpu.used")) << "of all by perf";
    most_processes = std::max(most_processes, now.at("run.processes"));
    last = now;
  }
  const double truth = static_cast<double>(hear()) * 1e-9;
  const Values after = sample();
  EXPECT_GT(walks, 2u);
  EXPECT_EQ(most_processes, 2);
  EXPECT_NEAR(after.at("run.cpu.user") + after.at("run.cpu.system") - first.at("run.cpu.user") -
                  first.at("run.cpu.system"),
              truth, 0.02 * truth + 0.02);
}

TEST_F(Trainee, ContextSwitches) {
  REQUIRE_PERF("run.scheduler.context_switches");
  ask("switches 10");
  const Values before = sample();
  const auto truth = static_cast<double>(ask("switches 2000"));
  const Values after = sample();
  ASSERT_GE(truth, 1900);
  expect_near(
      after.at("run.scheduler.context_switches") - before.at("run.scheduler.context_switches"),
      truth, "perf");
}

TEST_F(Trainee, Migrations) {
  REQUIRE_PERF("run.scheduler.migrations");
  const Values before = sample();
  const auto truth = static_cast<double>(ask("migrations 500"));
  if (truth < 0) GTEST_SKIP() << "one CPU only";
  const Values after = sample();
  expect_near(after.at("run.scheduler.migrations") - before.at("run.scheduler.migrations"), truth,
              "perf");
}

TEST_F(Trainee, ChildOfASecondThreadIsSeen) {
  const auto child = static_cast<pid_t>(ask("thread_child 0"));
  EXPECT_EQ(sample().at("run.processes"), 2);
  ::kill(child, SIGKILL);
}

TEST_F(Trainee, OrphanStaysTheRunsAndKeepsItsTimeWhenItIsGone) {
  const Values before = sample();
  const auto orphan = static_cast<pid_t>(ask("orphan 1000000000"));
  const Values during = sample();
  EXPECT_EQ(during.at("run.processes"), 2);
  const double ticks = during.at("run.cpu.user") + during.at("run.cpu.system") -
                       before.at("run.cpu.user") - before.at("run.cpu.system");
  clockid_t clock = 0;
  timespec used{};
  ASSERT_EQ(::clock_getcpuclockid(orphan, &clock), 0);
  ASSERT_EQ(::clock_gettime(clock, &used), 0);
  const double truth = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  ASSERT_GE(truth, 1.0);
  EXPECT_NEAR(ticks, truth, 0.04) << "in steps of 10 ms, two numbers for each process";
  if (by_perf("run.cpu.used")) {
    expect_near_by_perf(during.at("run.cpu.used") - before.at("run.cpu.used"), truth);
  }
  ::kill(orphan, SIGKILL);
  ASSERT_EQ(::waitpid(orphan, nullptr, 0), orphan);
  const Values after = sample();
  EXPECT_EQ(after.at("run.processes"), 1);
  EXPECT_GE(after.at("run.cpu.user"), during.at("run.cpu.user"));
}

// A control group whose CPU time the kernel counts, where this test may make one.
class CpuGroup {
 public:
  explicit CpuGroup(pid_t process) {
    for (const char* hierarchy : {"cpuacct", "cpu,cpuacct", "unified", ""}) {
      const fs::path parent = fs::path("/sys/fs/cgroup") / hierarchy;
      const fs::path group = parent / ("corral-tree-" + std::to_string(process));
      std::error_code failed;
      if (!fs::exists(parent / "cgroup.procs") || !fs::create_directory(group, failed)) continue;
      group_ = group;
      std::ofstream(group / "cgroup.procs") << process;
      if (used()) return;
      fs::remove(group, failed);
    }
    group_.clear();
  }
  ~CpuGroup() {
    std::error_code failed;
    if (!group_.empty()) fs::remove(group_, failed);
  }
  CpuGroup(const CpuGroup&) = delete;
  CpuGroup& operator=(const CpuGroup&) = delete;

  // Seconds; nothing where there is no group.
  [[nodiscard]] std::optional<double> used() const {
    double number = 0;
    if (std::ifstream(group_ / "cpuacct.usage") >> number) return number * 1e-9;
    std::string key;
    std::ifstream stat(group_ / "cpu.stat");
    if (stat >> key >> number && key == "usage_usec") return number * 1e-6;
    return std::nullopt;
  }

 private:
  fs::path group_;
};

class TraineeWithOrphans : public Trainee {
 protected:
  void SetUp() override {
    Trainee::SetUp();
    group_.emplace(pid_);
  }
  void TearDown() override {
    Trainee::TearDown();
    group_.reset();
  }

  // The kernel's record of an exit is made before it gives the memory back. The group counts that,
  // too: over 100 us beside other load, or with AddressSanitizer's shadow.
  static constexpr double kSeenOfGroup = 0.95;

  // Once all that `command` starts is gone, the processes' own clocks and the group's are met: the
  // first within 2 %, the second but for the processes' ends.
  void expect_counted(const std::string& command) {
    // Read before and after each sample: others may have the CPU in between.
    const auto used_first = group_->used();
    const Values before = sample();
    const auto used_before = group_->used();
    const double own = static_cast<double>(ask(command)) * 1e-9;
    const BootTime deadline = sys::boot_now() + std::chrono::seconds(20);
    Values after = sample();
    while (after.at("run.processes") > 1 && sys::boot_now() < deadline) after = sample();
    ASSERT_EQ(after.at("run.processes"), 1);
    const auto used_after = group_->used();
    after = sample();
    const auto used_last = group_->used();
    const auto grew = [&](const char* name) { return after.at(name) - before.at(name); };
    const double seen = grew("run.cpu.user") + grew("run.cpu.system");
    EXPECT_GT(seen, 0.98 * own);
    if (used_first && used_before && used_after && used_last) {
      EXPECT_GT(seen, kSeenOfGroup * (*used_after - *used_before)) << "control group";
      EXPECT_LT(seen, 1.02 * (*used_last - *used_first)) << "control group";
    }
    written_ = grew("run.io.write_syscall_bytes");
  }
  std::optional<CpuGroup> group_;
  double written_ = 0;
};

TEST_F(TraineeWithOrphans, DaemonsOf5Ms) {
  expect_counted("daemons 5000000");
  EXPECT_NEAR(written_, 100 * 4096, 0.02 * 100 * 4096);
}

TEST_F(TraineeWithOrphans, DaemonsOf20Ms) {
  expect_counted("daemons 20000000");
  EXPECT_NEAR(written_, 100 * 4096, 0.02 * 100 * 4096);
}

TEST_F(TraineeWithOrphans, ChildrenThatEndBeforeAParentThatNeverWaits) {
  expect_counted("neglected 5000000");
}

TEST_F(Trainee, AChildOfAProcessThatIgnoresItsChildrenKeepsWhatWasSeen) {
  const Values before = sample();
  tell("ignored 500000000");
  Values seen = before;
  while (!has_answered()) seen = sample();
  const double truth = static_cast<double>(hear()) * 1e-9;
  const Values after = sample();
  const auto cpu = [](const Values& v) { return v.at("run.cpu.user") + v.at("run.cpu.system"); };
  EXPECT_GE(cpu(after), cpu(seen));
  EXPECT_LE(cpu(after) - cpu(before), 1.02 * truth + 0.02);
  EXPECT_GE(cpu(after) - cpu(before), 0.5 * truth) << "the rest is after the last look";
}

TEST_F(Trainee, AShortChildsMemoryIsInThePeakWhenTheRunEnds) {
  const Values before = sample();
  const auto truth = static_cast<double>(ask("spike 134217728"));
  const Values after = sample();
  ::kill(pid_, SIGKILL);
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), nullptr, WEXITED | WNOWAIT), 0);
  const Values ended = sample();
  EXPECT_GE(ended.at("run.memory.rss_peak"), 0.98 * truth) << "wait(2)";
  const bool records = why_not("run.* of processes that cannot be reaped").empty();
  EXPECT_GE(after.at("run.memory.rss_peak"), records ? 0.98 * truth : 0) << "exit records";
  EXPECT_LT(ended.at("run.memory.rss_peak"), truth + before.at("run.memory.rss_peak") + (8 << 20));
}

TEST_F(Trainee, TotalsDoNotFallWhenTheRunEnds) {
  ask("burn 300000000");
  ask("writers 1");
  const Values during = sample();
  ::kill(pid_, SIGKILL);
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), nullptr, WEXITED | WNOWAIT), 0);
  const Values zombie = sample();
  EXPECT_EQ(zombie.at("run.processes"), 0);
  EXPECT_FALSE(zombie.contains("run.memory.rss"))
      << "no process is left to measure: not 0 but nothing";
  end();
  const Values after = sample();
  for (const char* name : {"run.cpu.user", "run.cpu.system", "run.io.write_syscall_bytes",
                           "run.io.write_block_bytes"}) {
    EXPECT_GE(zombie.at(name), during.at(name)) << name;
    EXPECT_EQ(after.at(name), zombie.at(name)) << name;
  }
}

// The places of threads, while the trainee works.
class TraineesThreads : public Trainee {
 protected:
  // By thread id; what each did during `command`.
  struct Use {
    double cpu = 0, run_delay = 0, lock = 0, pipe = 0;
  };

  void watch(const std::string& command) {
    before_ = sample();
    tell(command);
    // Not in step with what the trainee does every 10 ms.
    std::mt19937 random;
    std::uniform_int_distribution<useconds_t> pause(2'000, 18'000);
    while (!has_answered()) {
      sample();
      ::usleep(pause(random));
    }
    answer_ = static_cast<double>(hear()) * 1e-9;
    after_ = sample();
  }

  // Uses of the places that had a thread; a place that was free before begins at 0.
  [[nodiscard]] std::vector<Use> uses() const {
    std::vector<Use> found;
    for (std::size_t place = 1; place <= tree::ThreadTable::kPlaces; ++place) {
      const auto grew = [&](const char* metric) {
        const std::string name = fmt::format("{}/{}", metric, place);
        const auto at = before_.find(name);
        return after_.at(name) - (at == before_.end() ? 0 : at->second);
      };
      if (!after_.contains(fmt::format("run.thread.cpu/{}", place))) continue;
      found.push_back({.cpu = grew("run.thread.cpu"),
                       .run_delay = grew("run.thread.run_delay"),
                       .lock = grew("run.thread.waited.lock"),
                       .pipe = grew("run.thread.waited.pipe")});
    }
    return found;
  }

  Values before_, after_;
  double answer_ = 0;  // seconds
};

TEST_F(TraineesThreads, TheirCpuTime) {
  ask("burn 20000000");
  sample();
  watch("burn 700000000");
  const auto found = uses();
  ASSERT_EQ(found.size(), 1U);
  expect_near(found[0].cpu, answer_, "schedstat");
  // It waits for its next question until this thread looks.
  EXPECT_LT(found[0].lock + found[0].pipe, 0.3 * answer_);
}

// The kernel's own account of a thread's waits for a CPU. Wall time without CPU time is longer
// where a hypervisor steals some.
double run_delay_of(pid_t thread) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/schedstat", thread));
  std::int64_t cpu = 0, delay = 0;
  file >> cpu >> delay;
  return static_cast<double>(delay) * 1e-9;
}

TEST_F(TraineesThreads, WaitingForACpuIsNotWork) {
  ask("burn 20000000");
  sample();
  const double before = run_delay_of(pid_);
  watch("contend 700000000");
  const double truth = run_delay_of(pid_) - before;
  const auto found = uses();
  ASSERT_FALSE(found.empty());
  ASSERT_GT(truth, 0.3);
  EXPECT_NEAR(found[0].run_delay, truth, 0.05 * truth);
}

TEST_F(TraineesThreads, TwoThatTakeTurnsAtALock) {
  ask("burn 20000000");
  sample();
  const BootTime began = sys::boot_now();
  watch("turns 2000000000");
  const double wall = seconds(sys::boot_now() - began);
  const auto found = uses();
  ASSERT_EQ(found.size(), 1U) << "the other thread is gone, and its place is free";
  EXPECT_NEAR(found[0].cpu, answer_ / 2, 0.1 * answer_);
  const double waited = wall - found[0].cpu - found[0].run_delay;
  EXPECT_LE(found[0].lock, waited + 0.15 * wall);
  // By samples of its state, which are rare where the machine is busy.
  const bool busy = found[0].run_delay > 0.1 * wall;
  EXPECT_GE(found[0].lock, busy ? 0.4 * waited : waited - 0.15 * wall);
}

TEST_F(TraineesThreads, OneThatWaitsForAnotherProcess) {
  for (int i = 0; i < 3; ++i) sample();  // it gets its place, and is seen in it
  const auto waited = [](const Values& v) { return v.at("run.thread.waited.pipe/1"); };
  // On a busy machine it may still have to come back to its pipe.
  const Values first = sample();
  Values before = first;
  const BootTime deadline = sys::boot_now() + std::chrono::seconds(20);
  BootTime before_began = sys::boot_now();
  while (waited(before) == waited(first) && sys::boot_now() < deadline) {
    before_began = sys::boot_now();
    before = sample();
  }
  const BootTime before_ended = sys::boot_now();
  BootTime after_began = before_ended;
  Values after = before;
  while (after_began - before_ended < std::chrono::milliseconds(300)) {
    after_began = sys::boot_now();
    after = sample();
  }
  EXPECT_GE(waited(after) - waited(before), seconds(after_began - before_ended) - 0.02);
  EXPECT_LE(waited(after) - waited(before), seconds(sys::boot_now() - before_began) + 0.02);
  EXPECT_EQ(after.at("run.thread.id/1"), pid_);
  EXPECT_EQ(after.at("run.thread.process/1"), pid_);
}

class TraineeWithoutPerf : public Trainee {
 protected:
  TraineeWithoutPerf() { with_perf_ = false; }
};

TEST_F(TraineeWithoutPerf, CpuTimeAndFaultsComeFromProc) {
  const Values before = sample();
  const double seconds = static_cast<double>(ask("burn 1500000000")) * 1e-9;
  const Values between = sample();
  EXPECT_NEAR(between.at("run.cpu.used") - before.at("run.cpu.used"), seconds, 0.15);
  const auto bytes = static_cast<double>(ask("touch 134217728"));
  const Values after = sample();
  expect_near(after.at("run.memory.minor_faults") - between.at("run.memory.minor_faults"),
              bytes / 4096, "stat");
  EXPECT_FALSE(after.contains("run.scheduler.context_switches"));
}

}  // namespace
}  // namespace corral::collect
