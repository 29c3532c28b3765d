#include "run/supervise/room.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <latch>
#include <vector>

#include "sys/fd.h"
#include "sys/thread_guard.h"

namespace corral::run {
namespace {

// Threads of a recording with all its parts, and as many processes and threads of the command.
constexpr int kTasks = 64 + 64;
constexpr int kFiles = 64;  // open ones of a recording; the command has a limit of its own
constexpr std::size_t kMemory = 512u << 20;
constexpr std::size_t kStack = 1u << 20;
constexpr std::size_t kProbeStack = 128u << 10;

rlim_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

void* wait_for(void* over) {
  static_cast<std::latch*>(over)->wait();
  return nullptr;
}

Result<> room_for_tasks() {
  std::latch over{1};
  std::vector<pthread_t> started;
  started.reserve(kTasks);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kProbeStack);
  {
    const sys::SignalsBlocked blocked;
    pthread_t thread{};
    while (started.size() < kTasks && ::pthread_create(&thread, &attributes, wait_for, &over) == 0)
      started.push_back(thread);
  }
  ::pthread_attr_destroy(&attributes);
  over.count_down();
  for (const pthread_t thread : started) ::pthread_join(thread, nullptr);
  if (started.size() == kTasks) return {};
  return fail(
      Code::kUnavailable,
      fmt::format("only {} of {} processes and threads can be started (ulimit -u, or the group's "
                  "pids.max)",
                  started.size(), kTasks));
}

Result<> room_for_files() {
  std::vector<sys::Fd> files;
  files.reserve(kFiles);
  while (files.size() < kFiles) {
    const int file = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (file < 0) break;
    files.emplace_back(file);
  }
  // A closed standard error is no sign of a limit.
  if (files.size() == kFiles || ::fcntl(STDERR_FILENO, F_GETFD) < 0) return {};
  return fail(Code::kUnavailable,
              fmt::format("only {} of {} files can be opened (ulimit -n)", files.size(), kFiles));
}

Result<> room_for_memory() {
  const rlim_t stack = limit_of(RLIMIT_STACK);
  const bool limited =
      limit_of(RLIMIT_AS) != RLIM_INFINITY || limit_of(RLIMIT_DATA) != RLIM_INFINITY;
  if (limited || stack < kStack) {
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, kStack);
    ::pthread_setattr_default_np(&attributes);
    ::pthread_attr_destroy(&attributes);
  }
  if (!limited) return {};
  ::mallopt(M_ARENA_MAX, 2);
  void* const memory = ::mmap(nullptr, kMemory, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return fail(Code::kUnavailable,
                fmt::format("less than {} MiB of memory are left (ulimit -v, -d)", kMemory >> 20));
  ::munmap(memory, kMemory);
  return {};
}

}  // namespace

Result<> room_to_record(const Options& options) {
  // The command's output becomes a file, which the limit would cut.
  if (const rlim_t size = limit_of(RLIMIT_FSIZE); size < static_cast<rlim_t>(options.spool_limit))
    return fail(Code::kUnavailable,
                fmt::format("files are limited to {} bytes, and what the command prints is "
                            "written to one (ulimit -f)",
                            size));
  TRY(room_for_files());
  TRY(room_for_memory());
  return room_for_tasks();
}

}  // namespace corral::run
