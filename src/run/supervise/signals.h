// Signals: the signals that a supervisor takes, as a descriptor for its main thread.
//
// Threads do not take them (sys::start_thread), and the command has none blocked. One object in a
// process.
#pragma once

#include <poll.h>
#include <signal.h>

#include <optional>
#include <span>

#include "core/time.h"
#include "sys/fd.h"

namespace corral::run {

class Signals {
 public:
  Signals();
  // Those of a terminal, too: SIGTSTP, SIGCONT, SIGWINCH.
  void add_terminal();
  // The next signal; 0 when none came until the deadline (a second at most) or when one of `others`
  // is ready, whose `revents` are set.
  int next(std::optional<BootTime> deadline, std::span<pollfd> others = {});

 private:
  sigset_t set_{};
  sys::Fd fd_;
};

}  // namespace corral::run
