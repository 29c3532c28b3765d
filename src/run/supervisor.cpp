#include "run/supervisor.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "run/command.h"
#include "run/notices.h"
#include "run/profiling.h"
#include "run/recording.h"
#include "run/stopper.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::run {
namespace {

constexpr Nanos kUploadPatience{std::chrono::seconds(15)};

// Signals as a descriptor, for the main thread; blocked in every thread that is started later,
// reset in the command.
class Signals {
 public:
  Signals() {
    ::sigemptyset(&set_);
    for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) ::sigaddset(&set_, s);
    ::sigprocmask(SIG_BLOCK, &set_, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    fd_ = sys::Fd(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  // The next signal, 0 when none came until the deadline.
  int next(std::optional<BootTime> deadline) {
    pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    int milliseconds = 1000;
    if (deadline) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(*deadline - sys::boot_now()).count();
      milliseconds = static_cast<int>(std::clamp<std::int64_t>(left, 0, milliseconds));
    }
    ::poll(&waiting, 1, milliseconds);
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                : 0;
  }

 private:
  sigset_t set_{};
  sys::Fd fd_;
};

bool reap_orphan(pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) == pid; }

std::optional<BootTime> earliest(std::optional<BootTime> a, std::optional<BootTime> b) {
  if (!a) return b;
  return b ? std::min(*a, *b) : a;
}

class Supervisor {
 public:
  explicit Supervisor(const Options& options)
      : options_(options), notices_(options.quiet), stopper_(options.grace) {}

  // `thread_left`: a driver did not come back.
  int run(bool& thread_left) {
    auto command = resolve_command(options_);
    if (!command) return refuse(command.error());
    auto profiling = Profiling::prepare(options_);
    if (!profiling) return refuse(profiling.error());
    profiling_.emplace(std::move(*profiling));
    auto recording = Recording::open(options_, notices_);
    if (recording) {
      recording_ = std::move(*recording);
      profiling_->join(recording_->directory(), *command);
    } else {
      notices_.warn("this run is not recorded: " + recording.error().message);
    }
    const int status = start(*command);
    if (status != 0) return status;
    watch();
    leftovers();
    const int code = end();
    thread_left = recording_ != nullptr && recording_->left_thread_behind();
    return code;
  }

 private:
  int refuse(const Error& error);
  int start(const Command& command);
  void watch();
  void handle(int signal);
  void send(int signal);
  bool reap();
  [[nodiscard]] std::vector<pid_t> left_over() const;
  void leftovers();
  int end();
  void profile(BootTime ended);
  void finish_output();

  const Options& options_;
  Notices notices_;
  Signals signals_;
  Stopper stopper_;
  std::unique_ptr<Recording> recording_;
  std::optional<Profiling> profiling_;
  pid_t child_ = 0;
  int status_ = 0;      // of wait(2)
  bool ended_ = false;  // the command itself
  std::optional<BootTime> limit_;
};

// Nothing was started: the exit status is a shell's.
int Supervisor::refuse(const Error& error) {
  notices_.warn(error.message);
  return error.code == Code::kNotFound ? kNotFound : kNotExecutable;
}

int Supervisor::start(const Command& command) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sys::Fd out;
  sys::Fd err;
  if (recording_ != nullptr) {
    auto o = recording_->relay().standard_output();
    auto e = recording_->relay().standard_error();
    if (o && e) {
      out = std::move(*o);
      err = std::move(*e);
    }
  }
  ChildEnvironment environment;
  if (recording_ != nullptr) {
    environment = {.run_id = recording_->run().hex(),
                   .segments = recording_->directory().segments().string(),
                   .spool_limit = options_.spool_limit / 2,
                   .python_path = options_.python_path.string(),
                   .tracking_uri = recording_->tracking_uri(),
                   .statsd = recording_->statsd_address(),
                   .otlp = recording_->otlp_url(),
                   .capture = options_.capture,
                   .max_epochs = options_.max_epochs,
                   .max_steps = options_.max_steps,
                   .profile_steps = profiling_->steps()};
  }
  auto child = sys::GatedChild::spawn({.argv = command.argv,
                                       .environment = recording_ != nullptr
                                                          ? child_environment(environment, environ)
                                                          : sys::own_environment(),
                                       .directory = {},
                                       .standard_input = STDIN_FILENO,
                                       .standard_output = out ? out.get() : STDOUT_FILENO,
                                       .standard_error = err ? err.get() : STDERR_FILENO,
                                       .new_session = true});
  if (!child) {
    notices_.warn(child.error().message);
    if (recording_ != nullptr) recording_->discard();
    return kNotExecutable;
  }
  child_ = child->pid();
  if (recording_ != nullptr) {
    const pid_t pid = options_.watched > 0 ? static_cast<pid_t>(options_.watched) : child_;
    // Perf counts from an exec on: that of a process that is watched is over.
    const auto watched = recording_->watch(
        pid, options_.watched > 0 ? collect::PerfCounters() : collect::PerfCounters::open(pid));
    if (!watched) notices_.warn("no metrics are sampled: " + watched.error().message);
  }
  const auto released = child->release();
  if (!released) {
    notices_.warn(fmt::format("{}: {}", command.argv[0], released.error().message));
    if (recording_ != nullptr) recording_->discard();
    return released.error().code == Code::kNotFound ? kNotFound : kNotExecutable;
  }
  if (options_.max_time) limit_ = sys::boot_now() + *options_.max_time;
  if (recording_ != nullptr) {
    recording_->start(command);
    profiling_->begin(recording_->journal(), child_);
  }
  return 0;
}

void Supervisor::send(int signal) {
  // SIGINT as a terminal sends it: to the command's process group. The others, and all once the
  // command has ended, reach whoever left that group, too; nobody gets one twice.
  const std::vector<pid_t> others = ended_ || signal != SIGINT ? left_over() : std::vector<pid_t>();
  for (const pid_t pid : others) {
    if (::getpgid(pid) != child_) ::kill(pid, signal);
  }
  ::kill(-child_, signal);
}

void Supervisor::handle(int signal) {
  const BootTime now = sys::boot_now();
  if (signal == SIGINT || signal == SIGQUIT) {
    notices_.say(stopper_.asked() ? "stopping it faster"
                                  : "stopping the run; Ctrl-C again to hurry");
    stopper_.ask(SIGINT, codec::EndReason::kInterrupt, now);
  } else if (signal == SIGTERM) {
    stopper_.ask(SIGTERM, codec::EndReason::kInterrupt, now);
  }
  // SIGHUP: the terminal is gone; the training is not.
  if (limit_ && now >= *limit_) {
    limit_.reset();
    notices_.say("--max-time is reached: stopping the run");
    stopper_.ask(SIGINT, codec::EndReason::kMaxTime, now);
  }
  if (const auto due = stopper_.due(now)) send(*due);
}

bool Supervisor::reap() {
  siginfo_t ended{};
  if (::waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      ended.si_pid != child_)
    return false;
  // Until it is reaped the kernel still tells what the command used: the last sample is exact.
  if (recording_ != nullptr && options_.leftovers == Leftovers::kLeave) recording_->stop_sampling();
  const pid_t got = ::waitpid(child_, &status_, WNOHANG);
  return got == child_ || (got < 0 && errno == ECHILD);
}

void Supervisor::watch() {
  while (!reap()) handle(signals_.next(earliest(limit_, stopper_.wake_at())));
  ended_ = true;
}

// Live processes of the run but for the command itself. Orphans come to this process (a subreaper);
// its own helpers (git, the store's server) and what they leave in its session do not count.
std::vector<pid_t> Supervisor::left_over() const {
  std::vector<pid_t> pids;
  for (const pid_t child : sys::children_of(::getpid())) {
    if (child != child_ && (::getsid(child) == ::getsid(0) || sys::started_here(child))) continue;
    if (child != child_ && !reap_orphan(child)) pids.push_back(child);
    const auto below = sys::descendants_of(child);
    pids.insert(pids.end(), below.begin(), below.end());
  }
  return pids;
}

void Supervisor::leftovers() {
  std::vector<pid_t> pids = left_over();
  if (pids.empty()) return;
  if (!stopper_.asked() && options_.leftovers == Leftovers::kLeave) {
    notices_.say(fmt::format(
        "{} process{} outlived the command and {} left running; --leftovers wait waits for them",
        pids.size(), pids.size() == 1 ? "" : "es", pids.size() == 1 ? "is" : "are"));
    if (recording_ != nullptr) recording_->note_leftovers(pids.size());
    return;
  }
  if (!stopper_.asked())
    notices_.say(fmt::format("waiting for {} process{} that outlived the command", pids.size(),
                             pids.size() == 1 ? "" : "es"));
  if (stopper_.asked()) stopper_.restart(SIGTERM, sys::boot_now());
  while (!left_over().empty()) {
    handle(signals_.next(earliest(sys::boot_now() + Nanos(std::chrono::milliseconds(50)),
                                  earliest(limit_, stopper_.wake_at()))));
  }
}

int Supervisor::end() {
  const bool exited = WIFEXITED(status_);
  const int code = exited ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  if (recording_ == nullptr) return code;
  codec::RunEndBody end{.time = sys::boot_now(),
                        .reason = exited ? codec::EndReason::kExit : codec::EndReason::kSignal,
                        .exit_code = {},
                        .exit_signal = {}};
  if (exited) end.exit_code = WEXITSTATUS(status_);
  if (!exited) end.exit_signal = WTERMSIG(status_);
  if (stopper_.reason()) end.reason = *stopper_.reason();
  recording_->finish(end, [&] { profile(end.time); });
  finish_output();
  const BootTime deadline = sys::boot_now() + kUploadPatience;
  const bool all = recording_->wait_uploaded([&] {
    const int signal = signals_.next(sys::boot_now());
    return sys::boot_now() > deadline || signal == SIGINT || signal == SIGTERM;
  });
  if (!all)
    notices_.warn("not all data has reached the server; the rest waits in " +
                  recording_->directory().path().string() + " for the next corral run or serve");
  if (!recording_->summary().empty()) notices_.say(recording_->summary());
  return code;
}

void Supervisor::profile(BootTime ended) {
  if (options_.profile) finish_output();
  profiling_->end(recording_->journal(), ended, notices_, [&] {
    const int signal = signals_.next(sys::boot_now() + Nanos(std::chrono::milliseconds(50)));
    return signal == SIGINT || signal == SIGTERM;
  });
}

// What the command printed last must come out, however slowly its reader reads; Ctrl-C ends the
// wait.
void Supervisor::finish_output() {
  while (!recording_->relay().pass_on()) {
    const int signal = signals_.next(sys::boot_now() + Nanos(std::chrono::milliseconds(10)));
    if (signal == SIGINT || signal == SIGTERM) return;
  }
}

}  // namespace

int supervise(const Options& options) {
  bool thread_left = false;
  const int status = Supervisor(options).run(thread_left);
  if (!thread_left) return status;
  // A driver that hangs may hold locks that its library's destructors want.
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace corral::run
