// RateLimit: so many a second, and no more than one second's worth at once. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"

namespace corral::collect::foreign {

class RateLimit {
 public:
  explicit RateLimit(std::uint32_t per_second) : per_second_(per_second), left_(per_second) {}

  // Takes one from the allowance and returns true if there was one; `now` may come out of order.
  bool take(BootTime now) {
    refill(now);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  // Returns true if take() would.
  bool room(BootTime now) {
    refill(now);
    return left_ >= 1;
  }

 private:
  void refill(BootTime now) {
    if (now <= last_) return;
    left_ = std::min(per_second_, left_ + per_second_ * seconds(now - last_));
    last_ = now;
  }
  double per_second_;
  double left_;
  BootTime last_{};
};

}  // namespace corral::collect::foreign
