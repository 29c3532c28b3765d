#include "sys/inherited.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>

namespace corral::sys {
namespace {

// The signals whose handling parts of Corral change.
constexpr std::array kSignals = {SIGHUP,  SIGINT,  SIGPIPE, SIGQUIT, SIGTERM,
                                 SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU};
std::array<bool, kSignals.size()> ignored{};
sigset_t blocked{};

void set_signals(const std::array<bool, kSignals.size()>& ignore, const sigset_t& mask) noexcept {
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    ::signal(kSignals[i], ignore[i] ? SIG_IGN : SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace

void note_inherited() noexcept {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now {};
    ignored[i] = ::sigaction(kSignals[i], nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
  }
  ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
  ::signal(SIGCHLD, SIG_DFL);
  // The lowest number is the closed one. Nothing can be read or written through it, and exec closes
  // it again.
  for (int stream = 0; stream < 3; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) [[maybe_unused]]
      const int taken = ::open("/", O_PATH | O_CLOEXEC);
}

bool ignored_at_start(int signal) noexcept {
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    if (kSignals[i] == signal) return ignored[i];
  return false;
}

void restore_signals() noexcept { set_signals(ignored, blocked); }

void reset_signals() noexcept { set_signals({}, {}); }

}  // namespace corral::sys
