// Stopper: how a run is ended before its own end: SIGINT, after a grace period SIGTERM, at last
// SIGKILL.
//
// A plan over time without any clock or process in it: the caller says what time it is and sends
// what it is told to send.
#pragma once

#include <optional>

#include "codec/frame.h"
#include "core/time.h"

namespace corral::run {

class Stopper {
 public:
  // SIGINT comes first, so that scripts can write their checkpoint.
  static constexpr Nanos kTermGrace{std::chrono::seconds(5)};

  explicit Stopper(Nanos grace) : grace_(grace) {}

  // Starts the sequence with `first_signal` (SIGINT or SIGTERM); asked for again, it goes to the
  // next stage at once.
  void ask(int first_signal, codec::EndReason reason, BootTime now);
  // The sequence again from `first_signal`, for processes that outlived the command; the reason
  // stays.
  void restart(int first_signal, BootTime now);
  // The signal to send now, if any. Call whenever wake_at() has passed.
  std::optional<int> due(BootTime now);
  // When due() has something to say next; nothing when no stage is left.
  [[nodiscard]] std::optional<BootTime> wake_at() const { return at_; }
  [[nodiscard]] bool asked() const { return reason_.has_value(); }
  [[nodiscard]] std::optional<codec::EndReason> reason() const { return reason_; }

 private:
  Nanos grace_;
  int next_ = 0;  // signal that comes next; 0: none
  std::optional<BootTime> at_;
  std::optional<codec::EndReason> reason_;
};

}  // namespace corral::run
