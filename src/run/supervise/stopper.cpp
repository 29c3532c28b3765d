#include "run/supervise/stopper.h"

#include <csignal>

namespace corral::run {

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
