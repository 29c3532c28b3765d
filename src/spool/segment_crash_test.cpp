// Segments of processes that fork, are killed or run out of disk. The expected content is known
// from counters in shared memory, which know nothing of the spool.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

#include "spool/segment_format.h"
#include "spool/test_spool.h"

#ifndef __has_feature  // gcc
#define __has_feature(name) 0
#endif

namespace corral::spool {
namespace {

// Counters that survive the process that adds to them.
class SharedCounters {
 public:
  SharedCounters()
      : memory_(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedCounters() { ::munmap(memory_, 4096); }
  SharedCounters(const SharedCounters&) = delete;
  SharedCounters& operator=(const SharedCounters&) = delete;
  std::atomic<std::uint64_t>& operator[](std::size_t i) {
    return static_cast<std::atomic<std::uint64_t>*>(memory_)[i];
  }

 private:
  void* memory_;
};

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

TEST(SegmentCrash, AForkedChildStartsItsOwnSession) {
  const TestDirectory dir;
  SegmentWriter writer(dir.options());
  Series* series = writer.series(view("parent"));
  ASSERT_TRUE(writer.point(series, 1, 1, nullptr));
  const std::uint64_t key = writer.session_key();
  const pid_t pid = ::fork();
  if (pid == 0) {
    bool good = writer.session_key() == 0;
    good = good && writer.point(writer.series(view("child")), 2, 2, nullptr);
    good = good && writer.session_key() != key && writer.session_key() != 0;
    ::_exit(good ? 0 : 1);
  }
  EXPECT_EQ(wait_for(pid), 0);
  ASSERT_TRUE(writer.point(series, 3, 3, nullptr));
  const auto files = dir.segments();
  ASSERT_EQ(files.size(), 2u);
  for (const auto& file : files) {
    const auto reader = open_segment(file);
    ASSERT_TRUE(reader);
    const bool is_child = reader->header().pid == static_cast<std::uint32_t>(pid);
    const Stream read = read_file(file);
    EXPECT_EQ(read.names.at(1), is_child ? "child" : "parent");
    EXPECT_EQ(read.points.size(), is_child ? 1u : 2u);
    EXPECT_EQ(reader->writer_alive(), !is_child);
  }
}

// Forks while other threads log and roll all the time: no child may hang or lose a call.
TEST(SegmentCrash, ForkUnderThreadsNeverHangsAChild) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer's allocator keeps its locks in a forked child, and hangs";
#endif
  const TestDirectory dir;
  WriterOptions options = dir.options();
  options.first_bytes = kSegmentHeaderBytes + 64 * kSlotBytes;
  options.largest_bytes = options.first_bytes;  // rolls every 60 points
  SegmentWriter writer(options);
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> logged = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        if (writer.point(writer.series(view("t")), 0, 0, nullptr)) logged.fetch_add(1);
        if (logged.load() > 20'000) std::this_thread::yield();
      }
    });
  }
  constexpr std::size_t kChildren = 20;
  for (std::size_t i = 0; i < kChildren; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(20);  // a child that hangs dies by a signal, which the parent sees
      for (int k = 0; k < 100; ++k) {
        if (!writer.point(writer.series(view("child")), k, k, nullptr)) ::_exit(1);
      }
      ::_exit(0);
    }
    EXPECT_EQ(wait_for(pid), 0);
  }
  stop.store(true);
  threads.clear();
  std::size_t of_children = 0;
  std::size_t of_parent = 0;
  for (const auto& file : dir.segments()) {
    const bool parent = open_segment(file)->header().pid == static_cast<std::uint32_t>(::getpid());
    (parent ? of_parent : of_children) += read_file(file).points.size();
  }
  EXPECT_EQ(of_children, kChildren * 100);
  EXPECT_EQ(of_parent, logged.load());
}

TEST(SegmentCrash, EveryCallThatReturnedSurvivesKill9) {
  constexpr int kRounds = 20;
  constexpr int kThreads = 2;
  for (int round = 0; round < kRounds; ++round) {
    const TestDirectory dir;
    SharedCounters returned;
    const pid_t pid = ::fork();
    if (pid == 0) {
      WriterOptions options = dir.options();
      options.first_bytes = kSegmentHeaderBytes + 256 * kSlotBytes;
      SegmentWriter writer(options);
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          const std::string name = std::to_string(t);
          for (std::uint64_t i = 0;; ++i) {
            if (!writer.point(writer.series(view(name)), t, static_cast<double>(i), nullptr))
              ::_exit(1);
            returned[static_cast<std::size_t>(t)].store(i + 1);
          }
        });
      }
      for (auto& thread : threads) thread.join();
    }
    // The instant of death is a number of calls, another in each round.
    while (returned[0].load() < 100u + 997u * static_cast<unsigned>(round))
      std::this_thread::yield();
    ::kill(pid, SIGKILL);
    EXPECT_EQ(WTERMSIG(wait_for(pid)), SIGKILL);
    EXPECT_FALSE(open_segment(dir.segments().at(0))->writer_alive());
    const Stream read = read_all(dir.path());
    EXPECT_TRUE(read.corrupt.empty());
    std::map<std::int64_t, std::uint64_t> seen;  // by thread: values must come in order, each once
    for (const Point& point : read.points) {
      ASSERT_EQ(point.value, static_cast<double>(seen[ns_of(point.time)]++));
    }
    for (int t = 0; t < kThreads; ++t) {
      const std::uint64_t count = returned[static_cast<std::size_t>(t)].load();
      EXPECT_GE(seen[t], count) << "a call that returned is missing";
      EXPECT_LE(seen[t], count + 1);
    }
  }
}

TEST(SegmentCrash, AZombieIsNotAlive) {
  const TestDirectory dir;
  const pid_t pid = ::fork();
  if (pid == 0) {
    SegmentWriter* writer = new SegmentWriter(dir.options());  // NOLINT: killed with it
    writer->tag(view("a"), view("b"));
    ::raise(SIGKILL);
  }
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);  // dead, but not reaped
  EXPECT_FALSE(open_segment(dir.segments().at(0))->writer_alive());
  wait_for(pid);
}

TEST(SegmentCrash, AFileSizeLimitIsACountedDropAndNoSignal) {
  const TestDirectory dir;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit limit{.rlim_cur = 300u << 10, .rlim_max = 300u << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    SegmentWriter writer(dir.options());
    int kept = 0;
    for (int i = 0; i < 10'000; ++i) {
      kept += writer.point(writer.series(view("x")), i, i, nullptr) ? 1 : 0;
    }
    const bool first_only = kept == (256 * 1024 - 4096) / 32 - 1;
    ::_exit(first_only && writer.dropped() == static_cast<std::uint64_t>(10'000 - kept) ? 0 : 1);
  }
  EXPECT_EQ(wait_for(pid), 0);
}

TEST(SegmentCrash, AFullDiskIsACountedDropAndNoSignal) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
  const TestDirectory dir;
  if (::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=1m,mode=700") != 0) {
    GTEST_SKIP() << "cannot mount a tmpfs here: " << std::strerror(errno);
  }
  {
    SegmentWriter writer(dir.options());
    std::uint64_t refused = 0;
    constexpr std::uint64_t kCalls = 50'000;
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      if (!writer.point(writer.series(view("x")), 0, 1, nullptr)) ++refused;
    }
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(writer.dropped(), refused);
    EXPECT_EQ(read_all(dir.path()).points.size() + refused, kCalls);
  }
  EXPECT_EQ(::umount2(dir.path().c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace corral::spool
