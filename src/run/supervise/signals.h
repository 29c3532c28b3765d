// Signals: the signals for a supervisor, as a descriptor for its main thread.
//
// Other threads block them (sys::start_thread), and the command has none blocked. One object in a
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
  // Adds the signals of a terminal: SIGTSTP, SIGCONT, SIGWINCH.
  void add_terminal();
  // Returns the next signal; 0 if none came until the deadline (a second at most) or if one of
  // `others` is ready, whose `revents` are set.
  int next(std::optional<BootTime> deadline, std::span<pollfd> others = {});

 private:
  sigset_t set_{};
  sys::Fd fd_;
};

}  // namespace corral::run
