// Signals: the signals for a supervisor, as a descriptor for its main thread.
//
// Other threads block them (sys::start_thread), and the command has none blocked. One object in a
// process.
#pragma once

#include <poll.h>
#include <signal.h>

#include <optional>
#include <span>

#include "codec/frame.h"
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

// Stopper: the signals that end a run early: SIGINT, after a grace period SIGTERM, at last SIGKILL.
//
// It has no clock and no process: the caller passes the time and sends the signals.
class Stopper {
 public:
  // SIGINT comes first, so that scripts can write their checkpoint.
  static constexpr Nanos kTermGrace{std::chrono::seconds(5)};

  explicit Stopper(Nanos grace) : grace_(grace) {}

  // Starts the sequence with `first_signal` (SIGINT or SIGTERM); a second call goes to the next
  // stage at once.
  void ask(int first_signal, codec::EndReason reason, BootTime now);
  // Restarts the sequence from `first_signal`, for processes that outlived the command; the reason
  // stays.
  void restart(int first_signal, BootTime now);
  // Returns the signal to send now, if any. Call it whenever wake_at() has passed.
  std::optional<int> due(BootTime now);
  // Returns the time of the next signal; nullopt if no stage is left.
  [[nodiscard]] std::optional<BootTime> wake_at() const { return at_; }
  [[nodiscard]] bool asked() const { return reason_.has_value(); }
  [[nodiscard]] std::optional<codec::EndReason> reason() const { return reason_; }

 private:
  Nanos grace_;
  int next_ = 0;  // the next signal; 0: none
  std::optional<BootTime> at_;
  std::optional<codec::EndReason> reason_;
};

}  // namespace corral::run
