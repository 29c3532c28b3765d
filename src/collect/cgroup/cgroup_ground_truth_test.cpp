// Listener "cgroup" against a process whose use of the machine is known, in a group with a CPU
// quota that the test makes. Skipped, with the reason, where it may not make one. The process
// answers when it is done, so nothing here waits for luck.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "collect/cgroup/cgroup_listener.h"
#include "collect/test_roots.h"
#include "sys/clock.h"

namespace corral::collect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTouched = 64u << 20;
constexpr double kBurnt = 0.1;  // s of CPU time
constexpr double kQuota = 0.05;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The process under test: "b" burns, "t" touches memory; each is answered by the CPU time used.
[[noreturn]] void serve(int commands, int answers) {
  for (char command = 0; ::read(commands, &command, 1) == 1;) {
    const double begin = cpu_seconds();
    if (command == 'b') {
      while (cpu_seconds() - begin < kBurnt) {
      }
    }
    if (command == 't') {
      auto* memory = static_cast<volatile char*>(
          ::mmap(nullptr, kTouched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      for (std::size_t i = 0; i < kTouched; i += 4096) memory[i] = 1;
    }
    const double used = cpu_seconds() - begin;
    if (::write(answers, &used, sizeof used) != sizeof used) break;
  }
  ::_exit(0);
}

bool write_to(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.flush();
  return out.good();
}

class Group : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe(commands_.data()), 0);
    ASSERT_EQ(::pipe(answers_.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(commands_[1]);
      serve(commands_[0], answers_[1]);
    }
    const std::string name = "corral-test-" + std::to_string(::getpid());
    for (const char* hierarchy : {"", "unified", "cpu,cpuacct", "cpu", "cpuacct", "memory"}) {
      const fs::path parent = fs::path("/sys/fs/cgroup") / hierarchy;
      if (!fs::exists(parent / "cgroup.procs")) continue;
      const fs::path group = parent / name;
      std::error_code failed;
      fs::create_directory(group, failed);
      if (failed) continue;
      groups_.push_back(group);
      quota_ = quota_ ||
               (write_to(group / "cpu.cfs_period_us", "20000") &&
                write_to(group / "cpu.cfs_quota_us", "1000")) ||
               write_to(group / "cpu.max", "1000 20000");
      write_to(group / "cgroup.procs", std::to_string(pid_));
    }
    if (!quota_) GTEST_SKIP() << "no group with a CPU quota can be made below /sys/fs/cgroup";
    listener_ = open_cgroup_listener({.run_pid = pid_}, table_);
    ASSERT_NE(listener_, nullptr);
  }

  void TearDown() override {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int fd : {commands_[0], commands_[1], answers_[0], answers_[1]}) ::close(fd);
    for (const fs::path& group : groups_) ::rmdir(group.c_str());
  }

  double ask(char command) {
    double used = -1;
    EXPECT_EQ(::write(commands_[1], &command, 1), 1);
    EXPECT_EQ(::read(answers_[0], &used, sizeof used), static_cast<ssize_t>(sizeof used));
    return used;
  }

  // By metric alone.
  Values sample() {
    Values values = sample_once(*listener_, table_, kFastGroup);
    values.merge(sample_once(*listener_, table_, kSlowGroup));
    Values named;
    for (const auto& [name, value] : values) named[name.substr(0, name.find('/'))] = value;
    return named;
  }

  std::array<int, 2> commands_{}, answers_{};
  pid_t pid_ = -1;
  bool quota_ = false;
  std::vector<fs::path> groups_;
  SeriesTable table_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(Group, CpuTimeAndThrottlingByTheQuota) {
  ask('-');
  const Values before = sample();
  const BootTime begin = sys::boot_now();
  const double used = ask('b');
  const Values after = sample();
  const double seconds = std::chrono::duration<double>(sys::boot_now() - begin).count();
  const auto grew = [&](const char* name) { return after.at(name) - before.at(name); };
  EXPECT_NEAR(grew("cgroup.cpu.used"), used, 0.02 * used);
  EXPECT_DOUBLE_EQ(after.at("cgroup.cpu.limit"), kQuota);
  // 0.1 s at a twentieth of a CPU take 2 s, in which it is held back whenever it is not waiting: on
  // a machine that is busy it waits for most of them.
  EXPECT_GT(seconds, 0.9 * kBurnt / kQuota);
  EXPECT_GT(grew("cgroup.cpu.throttled"), 0.02 * seconds);
  EXPECT_LT(grew("cgroup.cpu.throttled") + used, 1.02 * seconds + 0.02);
  EXPECT_GT(grew("cgroup.cpu.throttled_periods"), 0);
  EXPECT_GE(grew("cgroup.cpu.periods"), grew("cgroup.cpu.throttled_periods"));
}

TEST_F(Group, MemoryThatItTouched) {
  ask('-');
  const Values before = sample();
  if (!before.contains("cgroup.memory.used")) GTEST_SKIP() << "no memory controller for the group";
  ask('t');
  const Values after = sample();
  const double touched = kTouched;
  EXPECT_NEAR(after.at("cgroup.memory.anonymous") - before.at("cgroup.memory.anonymous"), touched,
              0.02 * touched);
  EXPECT_NEAR(after.at("cgroup.memory.used") - before.at("cgroup.memory.used"), touched,
              0.02 * touched);
  EXPECT_GE(after.at("cgroup.memory.peak"), after.at("cgroup.memory.used"));
}

}  // namespace
}  // namespace corral::collect
