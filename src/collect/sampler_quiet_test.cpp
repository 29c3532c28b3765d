// Proves that the sampler thread neither allocates nor forks: a binary of its own, because it
// replaces malloc and fork.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "collect/sampler.h"
#include "sys/file.h"

namespace {

std::atomic<pid_t> watched{0};
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> forks{0};

// gettid() of glibc is a plain system call: safe inside malloc.
bool is_watched() {
  const pid_t thread = watched.load(std::memory_order_relaxed);
  return thread != 0 && thread == static_cast<pid_t>(::syscall(SYS_gettid));
}
void note(std::atomic<std::uint64_t>& counter) {
  if (is_watched()) counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// operator new, std::vector and fopen all end in these four; fork covers system() and popen() less
// posix_spawn.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's own names
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
pid_t __libc_fork();
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(size_t size) {
  note(allocations);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  note(allocations);
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  note(allocations);
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  note(allocations);
  return __libc_memalign(alignment, size);
}
pid_t fork() {
  note(forks);
  return __libc_fork();
}
}

namespace corral::collect {
namespace {

pid_t sampler_thread() {
  for (const std::string& thread : sys::list_directory("/proc/self/task")) {
    const auto name = sys::read_file("/proc/self/task/" + thread + "/comm");
    if (name && *name == "corral-sampler\n") return static_cast<pid_t>(std::stoi(thread));
  }
  return 0;
}

// A run that forks all the time, so that the walk meets new and vanishing processes.
pid_t start_busy_run() {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::setsid();
  for (;;) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
  }
}

TEST(SamplerThread, NeitherAllocatesNorForksInAThousandTicks) {
  const pid_t run = start_busy_run();
  PerfCounters perf = PerfCounters::open(run);
  auto sampler = Sampler::open({.listeners = {"proc", "tree"},
                                .interval = std::chrono::milliseconds(1),
                                .slow_interval = std::chrono::milliseconds(2),
                                .run_pid = run,
                                .perf = std::move(perf)})
                     .value();
  ASSERT_TRUE(sampler->start());
  std::uint64_t rows = 0;
  const auto take = [&](const RowView&) { ++rows; };
  while (sampler->ticks() < 1) sampler->drain(take);
  const pid_t thread = sampler_thread();
  ASSERT_NE(thread, 0);
  watched = thread;
  while (sampler->ticks() < 1001) sampler->drain(take);
  watched = 0;
  sampler->stop();
  ::kill(run, SIGKILL);
  ::waitpid(run, nullptr, 0);
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(forks, 0u);
  EXPECT_GE(rows, 1000u);
}

TEST(SamplerThread, WouldBeCaughtAllocatingOrForking) {
  watched = static_cast<pid_t>(::syscall(SYS_gettid));
  const std::string heap(1000, 'x');
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  watched = 0;
  ::waitpid(child, nullptr, 0);
  EXPECT_GT(allocations.exchange(0), 0u) << heap.size();
  EXPECT_GT(forks.exchange(0), 0u);
}

}  // namespace
}  // namespace corral::collect
