#include "run/supervise/supervisor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <latch>
#include <vector>

#include "core/result.h"
#include "core/text.h"
#include "run/job.h"
#include "run/notices.h"
#include "run/supervise/adoption.h"
#include "run/supervise/lifeline.h"
#include "run/supervise/supervision.h"
#include "sys/fd.h"
#include "sys/store_paths.h"
#include "sys/thread_guard.h"

namespace corral::run {
namespace {

// ---- Room: the limits of this process must allow a recording beside its command. A recording that
// reaches a limit half-way leaves the command less than a shell would have left it, so the limits
// are tested before anything is started.

// Threads of a recording with all its parts, and as many processes and threads of the command.
constexpr int kTasks = 64 + 64;
constexpr int kFiles = 64;  // open ones of a recording; the command has a limit of its own
constexpr std::size_t kMemory = 512u << 20;
constexpr std::size_t kStack = 1u << 20;
constexpr std::size_t kProbeStack = 128u << 10;

rlim_t read_limit(__rlimit_resource resource) {
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
  const rlim_t stack = read_limit(RLIMIT_STACK);
  const bool limited =
      read_limit(RLIMIT_AS) != RLIM_INFINITY || read_limit(RLIMIT_DATA) != RLIM_INFINITY;
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

// The error names the limit. Takes a few milliseconds. Call it before any thread is started: it
// also makes the stacks of later threads small where memory is limited.
Result<> room_to_record(const Options& options) {
  // The command's output becomes a file, which the limit would cut.
  if (const rlim_t size = read_limit(RLIMIT_FSIZE); size < static_cast<rlim_t>(options.spool_limit))
    return fail(Code::kUnavailable,
                fmt::format("files are limited to {} bytes, and what the command prints is "
                            "written to one (ulimit -f)",
                            size));
  TRY(room_for_files());
  TRY(room_for_memory());
  return room_for_tasks();
}

// Returns the options of the run's manifest; adopt() reports an unreadable one.
Options options_to_adopt(const Options& options) {
  const auto path = find_spooled(options);
  const auto manifest =
      path ? spool::RunDirectory::read_manifest(*path) : tl::unexpected(path.error());
  return manifest ? adopted_options(*manifest, options) : options;
}

// Takes the run that the other processes of this one's job record, too. Without it the run is one
// of its own.
void join_job(Options& options) {
  const auto variable = [](const char* name) { return sys::own_variable(name); };
  auto job = find_job(options.job, options.command, variable);
  if (!job) return;
  const bool alone = job->member.label.empty();
  // Its runs are counted in the spool.
  if (alone) job->key += "\n" + options.spool.string();
  const auto run = [&]() -> Result<RunId> {
    const sys::fs::path config = sys::base_directory("XDG_CONFIG_HOME", ".config");
    if (config.is_relative()) return fail(Code::kNotFound, "there is no home directory");
    return run_of(*job, config / "corral",
                  TRY(spool::usable_root(spool::spool_roots(options.spool))));
  }();
  if (!run && alone) return;
  if (!run)
    return Notices(options.quiet)
        .warn("this process has a run of its own, apart from the others of its job: " +
              run.error().message);
  options.run_id = *run;
  if (!alone || job->member.attempt > 0) options.member = job->member;
  options.leads = job->leads;
  options.quiet = options.quiet || !job->leads;
}

int supervise(const Options& options, const InPlace& in_place, std::string lacking) {
  const bool adopt = !options.adopt.empty();
  Options own = adopt ? options_to_adopt(options) : options;
  if (!own.run_id && !adopt && lacking.empty()) join_job(own);
  if (!own.run_id) own.run_id = RunId::random();
  Supervision supervision(own, in_place, std::move(lacking));
  const int status = adopt ? supervision.adopt() : supervision.run();
  lifeline::release();
  if (!supervision.left_thread_behind()) return status;
  // A hanging driver may hold locks that its library's destructors need.
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace

int supervise(const Options& options) {
  const InPlace in_place(options);
  lifeline::guard(in_place.possible() ? &in_place : nullptr);
  std::string lacking = options.lacking;
  if (const auto room = options.adopt.empty() ? room_to_record(options) : Result<>();
      !room && lacking.empty())
    lacking = room.error().message;
  try {
    return supervise(options, in_place, printable(lacking));
  } catch (const std::exception& e) {
    // Later exceptions are caught by code that knows the command's state.
    if (in_place.possible()) return in_place.execute(e.what());
    throw;
  }
}

}  // namespace corral::run
