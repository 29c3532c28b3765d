#include "collect/tree/exit_records.h"

#include <gtest/gtest.h>
#include <linux/taskstats.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "collect/tree/process_table.h"
#include "core/test_paths.h"
#include "sys/file.h"

namespace corral::collect::tree {
namespace {

std::string stats_of(std::uint16_t version, std::size_t size) {
  taskstats stats{};
  stats.version = version;
  stats.ac_pid = 12;
  stats.ac_ppid = 3;
  stats.ac_tgid = 10;
  stats.ac_utime = 1'000;
  stats.ac_stime = 2'000;
  stats.read_char = 5;
  stats.write_bytes = 4096;
  std::string bytes(size, '\xff');  // behind the struct: what later versions added
  std::memcpy(bytes.data(), &stats, std::min(size, sizeof stats));
  return bytes;
}

TEST(ExitRecords, AreReadByTheVersionsThatNameTheProcess) {
  for (const int version : {12, 13, 16, 99}) {
    const auto record =
        parse_taskstats(stats_of(static_cast<std::uint16_t>(version), sizeof(taskstats) + 144), 12);
    ASSERT_TRUE(record) << version;
    EXPECT_EQ(record->process, 10);
    EXPECT_EQ(record->parent, 3);
    EXPECT_EQ(record->user_us, 1'000u);
    EXPECT_EQ(record->system_us, 2'000u);
    EXPECT_EQ(record->read_syscall_bytes, 5u);
    EXPECT_EQ(record->write_block_bytes, 4096u);
  }
  EXPECT_TRUE(parse_taskstats(stats_of(12, offsetof(taskstats, ac_tgid) + 4), 12));
  EXPECT_FALSE(parse_taskstats(stats_of(12, offsetof(taskstats, ac_tgid)), 12)) << "too short";
  EXPECT_FALSE(parse_taskstats(stats_of(11, sizeof(taskstats)), 12)) << "too old";
  EXPECT_FALSE(parse_taskstats(stats_of(13, sizeof(taskstats)), 11)) << "laid out otherwise";
}

TEST(ExitRecords, TicksAreSharesOfWhatTheSchedulerMeasured) {
  std::string bytes = stats_of(12, sizeof(taskstats));
  const __u64 measured = 6'000'000;
  std::memcpy(bytes.data() + offsetof(taskstats, cpu_run_virtual_total), &measured,
              sizeof measured);
  const auto record = parse_taskstats(bytes, 12);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->user_us, 2'000u);
  EXPECT_EQ(record->system_us, 4'000u);
}

// As Linux 6.18 sent it: a thread of a process of several.
TEST(ExitRecords, OfARecordedDatagram) {
  const auto datagram = sys::read_file(source_dir() + "/tests/fixtures/taskstats-v16.bin").value();
  std::vector<ExitRecord> records;
  EXPECT_FALSE(read_exit_records(datagram, [&](const ExitRecord& r) { records.push_back(r); }));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].process, 31252);
  EXPECT_EQ(records[0].user_us, 1260u) << "too short for a tick of the clock to see it";
  EXPECT_EQ(records[0].system_us, 0u);
  EXPECT_EQ(records[0].parent, 31250);
  for (std::size_t cut = 0; cut < datagram.size(); cut += 3) {
    std::size_t more = 0;
    read_exit_records(datagram.substr(0, cut), [&](const ExitRecord&) { ++more; });
    EXPECT_EQ(more, 0u) << cut;
  }
}

// The recorded one with another version, and cut short within the struct.
TEST(ExitRecords, WhatCannotBeReadHasAReason) {
  auto datagram = sys::read_file(source_dir() + "/tests/fixtures/taskstats-v16.bin").value();
  const auto reason = [&] {
    std::size_t read = 0;
    const auto unread = read_exit_records(datagram, [&](const ExitRecord&) { ++read; });
    EXPECT_EQ(read, 0u);
    std::array<char, 200> room;
    return unread ? std::string(reason_of(*unread, room)) : std::string();
  };
  // The struct begins with its version, behind the headers of two messages, an attribute with the
  // thread's number and its own.
  constexpr std::size_t kVersion = 16 + 4 + 4 + 8 + 4;
  std::uint16_t version = 0;
  std::memcpy(&version, datagram.data() + kVersion, sizeof version);
  ASSERT_EQ(version, 16);
  datagram[kVersion] = 11;
  EXPECT_TRUE(reason().ends_with("version 12 (Linux 5.19) is the first that names the process"))
      << reason();
  datagram[kVersion] = 17;
  datagram[kVersion + offsetof(taskstats, ac_pid)] ^= 1;
  EXPECT_TRUE(reason().starts_with("the kernel's exit records are of taskstats version 17 ("))
      << reason();
  EXPECT_TRUE(reason().ends_with("it is laid out otherwise than this reads")) << reason();
}

// Processes 1 (the supervisor), 10 and 11 (of the run; 11 ignores SIGCHLD), 5 (a helper).
struct Fixed final : ShortLived::Family {
  [[nodiscard]] bool is_known(pid_t p) const override { return p == 10 || p == 11; }
  [[nodiscard]] bool is_supervisor(pid_t p) const override { return p == 1; }
  [[nodiscard]] bool is_helper(pid_t p) const override { return p == 5; }
  [[nodiscard]] bool ignores_children(pid_t p) override { return p == 11; }
};

TEST(ShortLived, SaysOnceThatSomeWereLeftOut) {
  ShortLived exits;
  for (std::size_t i = 0; i < ShortLived::kMost; ++i) exits.add({});
  EXPECT_FALSE(exits.left_out());
  exits.add({});
  EXPECT_TRUE(exits.left_out());
  EXPECT_FALSE(exits.left_out());
}

TEST(ShortLived, CountsWhatNobodyOfTheRunWaitedFor) {
  const auto total = [](std::initializer_list<ExitRecord> records) {
    ShortLived exits;
    Fixed family;
    for (const ExitRecord& record : records) exits.add(record);
    exits.resolve(family);
    exits.resolve(family);  // forgot them
    return exits.totals().user_us;
  };
  const auto exit = [](pid_t process, pid_t parent, std::uint64_t us) {
    ExitRecord record;
    record.process = process;
    record.parent = parent;
    record.user_us = us;
    return record;
  };
  EXPECT_EQ(total({exit(20, 1, 7)}), 7u) << "an orphan";
  EXPECT_EQ(total({exit(20, 1, 7), exit(20, 1, 2)}), 9u) << "of two threads";
  EXPECT_EQ(total({exit(30, 20, 1), exit(31, 30, 4), exit(20, 1, 7)}), 12u) << "and its children";
  EXPECT_EQ(total({exit(20, 10, 7), exit(21, 20, 3)}), 0u) << "10 has them";
  EXPECT_EQ(total({exit(20, 11, 7), exit(21, 20, 3)}), 10u) << "11 never gets them";
  EXPECT_EQ(total({exit(10, 1, 7)}), 0u) << "a walk saw it";
  EXPECT_EQ(total({exit(5, 1, 7), exit(20, 5, 3)}), 0u) << "a helper's";
  EXPECT_EQ(total({exit(20, 999, 7), exit(21, 20, 3)}), 0u) << "somebody else's";
  EXPECT_EQ(total({exit(20, 21, 7), exit(21, 20, 3), exit(22, 22, 1)}), 0u) << "no end";
}

std::int64_t cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

[[noreturn]] void burn_as_orphan() {
  while (cpu_ns() < 300'000'000) {
  }
  ::_exit(0);
}

// The run's process: at a byte it makes an orphan, and goes on.
[[noreturn]] void run_process(int go) {
  char c = 0;
  while (::read(go, &c, 1) == 1) {
    const pid_t middle = ::fork();
    if (middle == 0) {
      if (::fork() == 0) burn_as_orphan();
      ::_exit(0);
    }
    ::waitpid(middle, nullptr, 0);
  }
  ::_exit(0);
}

// With what it waited for, in ticks.
std::uint64_t ticks_of(pid_t process) {
  ProcessFiles files("/");
  ProcessStat stat;
  const auto text = files.read(process, ProcessFile::kStat, nullptr);
  EXPECT_TRUE(text && parse_process_stat(*text, stat));
  return stat.user_ticks + stat.system_ticks;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

TEST(ExitRecords, AnOrphanThatNoWalkSawIsCountedWithinTwoPercent) {
  auto exits = ExitRecords::open();
  if (!exits) GTEST_SKIP() << exits.error().message;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t run = ::fork();
  if (run == 0) {
    ::close(go[1]);
    run_process(go[0]);
  }
  ProcessTable table({.root = "/", .run_pid = run, .supervisor_pid = ::getpid()});
  table.use(*std::move(exits));
  const auto ticks = [&] {
    const Counters& c = table.walk().counters;
    return c[kUserTicks] + c[kSystemTicks];
  };
  const std::uint64_t before = ticks();
  const std::uint64_t run_before = ticks_of(run);
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  rusage used{};
  const pid_t orphan = ::wait4(-1, nullptr, 0, &used);
  ASSERT_NE(orphan, run);
  const auto seen = static_cast<double>(ticks() - before);
  const double truth = (seconds_of(used.ru_utime) + seconds_of(used.ru_stime)) *
                           static_cast<double>(::sysconf(_SC_CLK_TCK)) +
                       static_cast<double>(ticks_of(run) - run_before);
  EXPECT_GT(truth, 29);
  EXPECT_NEAR(seen, truth, 0.02 * truth + 2) << "two whole ticks are cut off";
  EXPECT_EQ(static_cast<double>(ticks() - before), seen) << "once";
  for (const int fd : go) ::close(fd);
  ::waitpid(run, nullptr, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace corral::collect::tree
