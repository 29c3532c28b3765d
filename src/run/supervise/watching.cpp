// Supervision, while the command runs.
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "run/supervise/lifeline.h"
#include "run/supervise/supervision.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::run {
namespace {

// How often a supervisor in the background of its terminal asks whether it is in the foreground.
constexpr Nanos kForegroundPause{std::chrono::milliseconds(250)};
constexpr Nanos kProgressPause{std::chrono::seconds(1)};
// How often a container that starts is looked at: how well its start is known.
constexpr Nanos kLookPause{std::chrono::milliseconds(1)};

// As wait(2) has it.
int status_of(const siginfo_t& ended) {
  if (ended.si_code == CLD_EXITED) return W_EXITCODE(ended.si_status, 0);
  return W_EXITCODE(0, ended.si_status) | (ended.si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

// It is reaped by the sampler, which counts what it used, or when this process ends.
bool has_ended(pid_t orphan) {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(orphan), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         ended.si_pid == orphan;
}

}  // namespace

std::optional<BootTime> earliest(std::optional<BootTime> a, std::optional<BootTime> b) {
  if (!a) return b;
  return b ? std::min(*a, *b) : a;
}

void Supervision::send(int signal) {
  // SIGINT as a terminal sends it: to the command's process group. The others, and all once the
  // command has ended, reach whoever left that group, too; nobody gets one twice.
  const std::vector<pid_t> others = ended_ || signal != SIGINT ? left_over() : std::vector<pid_t>();
  for (const pid_t pid : others) {
    if (::getpgid(pid) != child_) ::kill(pid, signal);
  }
  // The group of a command that is another's child may be somebody else's once it is gone.
  if (!adopted_ || !ended_) ::kill(-child_, signal);
  // The tool passes the others on.
  if (signal == SIGKILL) setting_.end();
}

void Supervision::handle(int signal) {
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

bool Supervision::reap() {
  if (adopted_) return reap_adopted();
  siginfo_t ended{};
  const int asked = ::waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT);
  if (ended.si_pid != child_) return asked != 0 && errno == ECHILD;
  // Until it is reaped the kernel still tells what the command used: the last sample is exact.
  if (recording_ != nullptr && options_.leftovers == Leftovers::kLeave) recording_->stop_sampling();
  status_ = status_of(ended);
  lifeline::ended(status_);
  // Else once its end is told: who inherits it from a supervisor that is killed before can ask,
  // too.
  if (options_.leftovers == Leftovers::kWait) ::waitpid(child_, nullptr, WNOHANG);
  return true;
}

bool Supervision::reap_adopted() {
  pollfd process{.fd = adopted_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&process, 1, 0) == 1;
}

// Whatever fails here, the command is waited for and its status given.
int Supervision::attend() {
  int status = 0;
  const auto all = [&] {
    watch();
    leftovers();
    status = end();
  };
  if (sys::guard_call("the supervisor", all)) return status;
  status = lifeline::wait();
  sys::guard_call("the supervisor", [&] {
    if (recording_ == nullptr) return;
    recording_->stop_spooler();
    finish_output();
  });
  return status;
}

void Supervision::watch() {
  while (!reap()) {
    const auto look = begun_ ? std::nullopt : std::optional(sys::boot_now() + kLookPause);
    handle(next_signal(earliest(look, earliest(limit_, stopper_.wake_at()))));
    look_inside();
  }
  if (!finished_) finished_ = sys::boot_now();
  // Shorter than a look.
  if (!begun_) begin(*finished_);
  ended_ = true;
}

// A container's command begins after its tool does, and ends before it.
void Supervision::look_inside() {
  if (!inside_) return;
  if (!begun_ && inside_->executes()) begin(sys::boot_now());
  if (!finished_ && inside_->ended()) finished_ = sys::boot_now();
}

// What a terminal's signal means to the supervisor; true: it has been done.
bool Supervision::heed_terminal(int signal) {
  if (terminal_ == nullptr) return false;
  if (signal == SIGTSTP) terminal_->suspend(!ended_);
  if (signal == SIGWINCH) terminal_->resize();
  terminal_->tend();
  terminal_->enter();
  return signal == SIGTSTP || signal == SIGWINCH || signal == SIGCONT;
}

// The next signal, from the kernel or from a key; 0: none until the deadline, or something else was
// to be done.
int Supervision::next_signal(std::optional<BootTime> deadline) {
  std::array<pollfd, 5> waiting{
      pollfd{.fd = ended_ ? -1 : gate_.reports_descriptor(), .events = POLLIN, .revents = 0},
      pollfd{.fd = ended_ ? -1 : adopted_.get(), .events = POLLIN, .revents = 0}};
  waiting[2].fd = waiting[3].fd = -1;
  waiting[4] = {
      .fd = inside_ && !finished_ ? inside_->descriptor() : -1, .events = POLLIN, .revents = 0};
  if (terminal_ != nullptr) {
    std::ranges::copy(terminal_->waits(), waiting.begin() + 2);
    deadline = earliest(deadline, sys::boot_now() + kForegroundPause);
  }
  deadline = earliest(deadline, next_progress());
  int signal = typed_.empty() ? signals_.next(deadline, waiting) : 0;
  if (waiting[0].revents != 0) look_at_gate();
  tell_progress();
  if (terminal_ != nullptr) {
    const std::vector<int> keys = terminal_->take_keys({waiting[2], waiting[3]});
    for (const int key : keys) {
      // As the terminal would: a script around this command hears Ctrl-C, too.
      if (key == SIGTSTP) typed_.push_back(key);
      if (key != SIGTSTP) ::kill(0, key);
    }
  }
  if (signal == 0 && !typed_.empty()) {
    signal = typed_.front();
    typed_.erase(typed_.begin());
  }
  return heed_terminal(signal) ? 0 : signal;
}

// Nothing: nobody wants to hear.
std::optional<BootTime> Supervision::next_progress() const {
  const bool heard = !ended_ && recording_ != nullptr && gate_.reports_descriptor() >= 0;
  return heard ? std::optional(tell_at_) : std::nullopt;
}

void Supervision::tell_progress() {
  const auto at = next_progress();
  const BootTime now = sys::boot_now();
  if (!at || now < *at) return;
  tell_at_ = now + kProgressPause;
  const Progress progress = recording_->progress();
  if (progress != told_ && gate_.progress(progress)) told_ = progress;
}

void Supervision::look_at_gate() {
  for (const Wish& wish : gate_.wishes()) {
    if (recording_ != nullptr) recording_->note_tags(wish.tags);
    if (wish.status) told_status_ = wish.status;
    if (!wish.stop || stopper_.asked()) continue;
    end_rule_ = *wish.stop;
    notices_.say("stopping the run: " + *wish.stop);
    stopper_.ask(SIGINT, codec::EndReason::kInterrupt, sys::boot_now());
    handle(0);
  }
}

// Live processes of the run but for the command itself. Orphans come to this process (a subreaper);
// its own helpers (git, the store's server) and what they leave in its session do not count.
std::vector<pid_t> Supervision::left_over() const {
  // An adopted command's orphans are nobody's to be known by.
  if (adopted_) return ended_ ? std::vector<pid_t>() : sys::descendants_of(child_);
  std::vector<pid_t> pids;
  for (const pid_t child : sys::children_of(::getpid())) {
    if (child != child_ && (::getsid(child) == ::getsid(0) || sys::started_here(child))) continue;
    if (child != child_ && !has_ended(child)) pids.push_back(child);
    const auto below = sys::descendants_of(child);
    pids.insert(pids.end(), below.begin(), below.end());
  }
  return pids;
}

void Supervision::leftovers() {
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
    handle(next_signal(earliest(sys::boot_now() + Nanos(std::chrono::milliseconds(50)),
                                earliest(limit_, stopper_.wake_at()))));
  }
  finished_ = sys::boot_now();
}

}  // namespace corral::run
