#include "run/supervise/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "sys/clock.h"
#include "sys/inherited.h"

namespace corral::run {
namespace {

constexpr int kLookMs = 50;  // interval of polling for signals, without a signalfd

}  // namespace

Signals::Signals() {
  ::sigemptyset(&set_);
  // Signals that were ignored (a shell's background job, nohup) end nothing.
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD})
    if (s == SIGCHLD || !sys::ignored_at_start(s)) ::sigaddset(&set_, s);
  ::sigprocmask(SIG_BLOCK, &set_, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  fd_ = sys::Fd(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Signals::add_terminal() {
  for (const int s : {SIGTSTP, SIGCONT, SIGWINCH}) ::sigaddset(&set_, s);
  ::sigprocmask(SIG_BLOCK, &set_, nullptr);
  ::signalfd(fd_.get(), &set_, 0);
}

int Signals::next(std::optional<BootTime> deadline, std::span<pollfd> others) {
  std::vector<pollfd> waiting(others.begin(), others.end());
  waiting.push_back({.fd = fd_.get(), .events = POLLIN, .revents = 0});
  int milliseconds = 1000;
  if (deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*deadline - sys::boot_now()).count();
    milliseconds = static_cast<int>(std::clamp<std::int64_t>(left, 0, milliseconds));
  }
  // A filter of system calls may forbid it.
  if (!fd_) {
    waiting.pop_back();
    milliseconds = std::min(milliseconds, kLookMs);
  }
  if (::poll(waiting.data(), waiting.size(), milliseconds) <= 0) {
    for (pollfd& one : waiting) one.revents = 0;
  }
  std::copy_n(waiting.begin(), others.size(), others.begin());
  if (!fd_) {
    constexpr timespec kNow{};
    return std::max(::sigtimedwait(&set_, nullptr, &kNow), 0);
  }
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                              : 0;
}

void Stopper::ask(int first_signal, codec::EndReason reason, BootTime now) {
  if (!reason_) {
    reason_ = reason;
    next_ = first_signal;
  }
  if (next_ != 0) at_ = now;
}

void Stopper::restart(int first_signal, BootTime now) {
  next_ = first_signal;
  at_ = now;
}

std::optional<int> Stopper::due(BootTime now) {
  if (!at_ || now < *at_) return std::nullopt;
  const int signal = next_;
  if (signal == SIGINT) {
    next_ = SIGTERM;
    at_ = now + grace_;
  } else if (signal == SIGTERM) {
    next_ = SIGKILL;
    at_ = now + kTermGrace;
  } else {
    next_ = 0;
    at_.reset();
  }
  return signal;
}

}  // namespace corral::run
