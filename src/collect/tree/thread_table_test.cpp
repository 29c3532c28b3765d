#include "collect/tree/thread_table.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace corral::collect::tree {
namespace {

namespace fs = std::filesystem;

constexpr pid_t kProcess = 100;

// A /proc with threads whose times the test writes.
class ThreadTableTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("corral-threads-{}", ::getpid());
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] fs::path folder(pid_t thread) const {
    return root_ / "proc" / std::to_string(kProcess) / "task" / std::to_string(thread);
  }
  void write(pid_t thread, std::uint64_t cpu_ms, std::string_view call = "running") const {
    fs::create_directories(folder(thread));
    std::ofstream(folder(thread) / "schedstat") << cpu_ms * 1'000'000 << " 5000000 7\n";
    std::ofstream(folder(thread) / "syscall") << call << "\n";
  }

  // One second later.
  void walk() {
    now_ += std::chrono::seconds(1);
    table().walk(std::array{kProcess}, now_);
  }
  ThreadTable& table() {
    if (!table_) table_.emplace(root_);
    return *table_;
  }
  [[nodiscard]] const ThreadTable::Place* place(pid_t thread) {
    const auto places = table().places();
    const auto at = std::ranges::find(places, thread, &ThreadTable::Place::thread);
    return at == places.end() ? nullptr : &*at;
  }

  fs::path root_;
  BootTime now_ = boot_time(1);
  std::optional<ThreadTable> table_;
};

TEST_F(ThreadTableTest, CountsFromWhenAThreadHasItsPlace) {
  write(kProcess, 1000, "0 0x0 0x7f 0x10 0x0 0x0 0x0 0x7ffd 0x7f2a");
  walk();
  walk();
  ASSERT_NE(place(kProcess), nullptr);
  EXPECT_EQ(place(kProcess)->times.cpu, 0U);
  write(kProcess, 1250, fmt::format("{} 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffd 0x7f2a", SYS_futex));
  walk();
  EXPECT_EQ(place(kProcess)->times.cpu, 250'000'000U);
  EXPECT_EQ(place(kProcess)->waited[static_cast<std::size_t>(Wait::kLock)], 1'000'000'000U);
}

// A worker that lives for some seconds would else lose one or two of them.
TEST_F(ThreadTableTest, AThreadThatBeginsLaterCountsFromItsBegin) {
  constexpr pid_t kWorker = kProcess + 1, kJoined = kProcess + 2;
  write(kProcess, 0);
  walk();
  walk();
  write(kWorker, 400);
  write(kJoined, 1500);  // more than a second: it came with a process that is older
  walk();
  write(kWorker, 1400);
  write(kJoined, 1700);
  walk();
  ASSERT_NE(place(kWorker), nullptr);
  EXPECT_EQ(place(kWorker)->times.cpu, 1'400'000'000U);
  EXPECT_EQ(place(kWorker)->times.run_delay, 5'000'000U);
  ASSERT_NE(place(kJoined), nullptr);
  EXPECT_EQ(place(kJoined)->times.cpu, 200'000'000U);
}

TEST_F(ThreadTableTest, AThreadThatLostItsPlaceIsNotCountedTwice) {
  constexpr pid_t kLate = 500;
  for (pid_t i = 0; i < 32; ++i) write(kProcess + i, 100);
  walk();
  for (pid_t i = 0; i < 32; ++i) write(kProcess + i, 300);
  walk();
  write(kLate, 0);
  for (pid_t i = 1; i < 32; ++i) write(kProcess + i, 600);
  walk();
  write(kLate, 900);
  for (pid_t i = 1; i < 32; ++i) write(kProcess + i, 900);
  walk();
  ASSERT_EQ(place(kProcess), nullptr);
  std::ofstream(folder(kProcess + 1) / "schedstat") << "";
  fs::remove_all(folder(kProcess + 1));
  const auto* const freed = place(kProcess + 1);
  const std::uint64_t sum = freed->times.cpu;
  walk();
  walk();
  ASSERT_EQ(place(kProcess), freed);
  EXPECT_EQ(freed->times.cpu, sum);
}

// More threads than one walk looks at, all of them older than the table.
TEST_F(ThreadTableTest, ManyOldThreadsAreNotTakenForNewOnes) {
  constexpr int kThreads = 200, kBusy = 20, kWalks = 30;
  for (int t = 0; t < kThreads; ++t) write(kProcess + t, 800);
  for (int w = 1; w <= kWalks; ++w) {
    walk();
    for (int b = 1; b <= kBusy; ++b)
      write(kProcess + kThreads - b, 800 + 300 * static_cast<std::uint64_t>(w));
  }
  walk();
  std::uint64_t used = 0;
  for (const ThreadTable::Place& one : table().places()) used += one.times.cpu;
  EXPECT_LE(used, 300'000'000UL * kBusy * kWalks) << "of what they used before nothing counts";
  for (int b = 1; b <= kBusy; ++b) EXPECT_NE(place(kProcess + kThreads - b), nullptr) << b;
}

TEST_F(ThreadTableTest, ABusierThreadTakesThePlaceOfTheIdlest) {
  constexpr pid_t kLate = 500;
  for (pid_t i = 0; i < 32; ++i) write(kProcess + i, 100);
  walk();
  for (pid_t i = 0; i < 32; ++i) write(kProcess + i, 200 + static_cast<std::uint64_t>(i));
  walk();
  EXPECT_NE(place(kProcess), nullptr);
  write(kLate, 0);
  for (pid_t i = 1; i < 32; ++i) write(kProcess + i, 300 + static_cast<std::uint64_t>(i));
  walk();
  EXPECT_EQ(place(kLate), nullptr) << "its use is not known yet";
  const std::uint64_t sum = place(kProcess)->times.cpu;
  const auto* const idlest = place(kProcess);
  write(kLate, 500);
  for (pid_t i = 1; i < 32; ++i) write(kProcess + i, 400 + static_cast<std::uint64_t>(i));
  walk();
  ASSERT_EQ(place(kLate), idlest);
  EXPECT_EQ(place(kProcess), nullptr);
  EXPECT_EQ(place(kLate)->times.cpu, sum) << "a counter never falls";
}

TEST_F(ThreadTableTest, TheBusyOneOfManyIsFound) {
  constexpr pid_t kMany = 1000;
  const pid_t busy = kProcess + kMany - 1;
  for (pid_t i = 0; i < kMany; ++i) write(kProcess + i, 0);
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < 2 * kMany / ThreadTable::kProbes && place(busy) == nullptr; ++i) {
    write(busy, used += 900);
    walk();
  }
  EXPECT_NE(place(busy), nullptr);
}

TEST_F(ThreadTableTest, AThreadThatEndsFreesItsPlace) {
  write(kProcess, 0);
  write(kProcess + 1, 50);
  walk();
  walk();
  ASSERT_NE(place(kProcess + 1), nullptr);
  std::ofstream(folder(kProcess + 1) / "schedstat") << "";
  fs::remove_all(folder(kProcess + 1));
  walk();
  EXPECT_EQ(place(kProcess + 1), nullptr);
}

TEST_F(ThreadTableTest, WhatTheKernelDoesNotTellIsNotGuessed) {
  write(kProcess, 0);
  fs::remove(folder(kProcess) / "syscall");
  fs::create_directory(folder(kProcess) / "syscall");
  for (int i = 0; i < 3; ++i) walk();
  ASSERT_NE(place(kProcess), nullptr);
  EXPECT_FALSE(place(kProcess)->waits_known);
  EXPECT_EQ(table().refusal(), 0) << "EISDIR refuses nobody";
}

// As any user but root, who may read everything.
TEST_F(ThreadTableTest, OnlyALivingThreadIsRefused) {
  const auto refusal = [&](pid_t thread, std::string_view statm) {
    write(thread, 50);
    std::ofstream(folder(thread) / "statm") << statm;
    fs::permissions(folder(thread) / "syscall", fs::perms::none);
    ::setfsuid(65'534);
    for (int i = 0; i < 3; ++i) walk();
    ::setfsuid(::geteuid());
    EXPECT_NE(place(thread), nullptr);
    return table().refusal();
  };
  EXPECT_EQ(refusal(kProcess, "0 0 0 0 0 0 0\n"), 0) << "it is ending";
  EXPECT_EQ(refusal(kProcess + 1, "4000 900 300 1 0 800 0\n"), EACCES);
}

TEST(ParseSyscall, SaysWhatAThreadWaitsFor) {
  const auto wait = [](std::string_view text) {
    ThreadCall call;
    EXPECT_TRUE(parse_syscall(text, call)) << text;
    EXPECT_FALSE(call.running);
    return call.wait;
  };
  EXPECT_EQ(wait(fmt::format("{} 0x1 0x2", SYS_futex)), Wait::kLock);
  EXPECT_EQ(wait(fmt::format("{} 0x1 0x2", SYS_fsync)), Wait::kFile);
  EXPECT_EQ(wait(fmt::format("{} 0x1 0x2", SYS_recvfrom)), Wait::kPipe);
  EXPECT_EQ(wait(fmt::format("{} 0x1 0x2", SYS_ioctl)), Wait::kDevice);
  EXPECT_EQ(wait(fmt::format("{} 0x1 0x2", SYS_wait4)), Wait::kOther);
  EXPECT_EQ(wait("-1 0x7ffd 0x7f2a"), Wait::kFile);
  EXPECT_EQ(wait("99999999999999999999 0x1"), Wait::kOther);
  ThreadCall call;
  EXPECT_TRUE(parse_syscall("running\n", call));
  EXPECT_TRUE(call.running);
  EXPECT_TRUE(parse_syscall(fmt::format("{} 0x1f 0x2", SYS_read), call));
  EXPECT_EQ(call.descriptor, 31U);
  EXPECT_FALSE(parse_syscall("", call));
  EXPECT_FALSE(parse_syscall("nonsense", call));
}

}  // namespace
}  // namespace corral::collect::tree
