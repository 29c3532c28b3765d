// EventLimit: limits the reports of an event that keeps happening.
//
// At once, then at most every 10 s, and while it goes on without a calm minute at growing gaps up
// to 10 min, so that a week of pressure is some thousand events and a short one is not missed.
// Events that are not reported are counted into the next one that is. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/time.h"

namespace corral::collect {

class EventLimit {
 public:
  static constexpr Nanos kFirstGap = std::chrono::seconds(10);
  static constexpr Nanos kLongestGap = std::chrono::minutes(10);
  static constexpr Nanos kCalm = std::chrono::minutes(1);

  // It happened so often. Returns the number of events since the last report, if one is due now.
  std::optional<std::uint64_t> note(BootTime now, std::uint64_t times = 1) {
    const bool fresh = !told_ || now - seen_ > kCalm;
    pending_ += times;
    seen_ = now;
    if (told_ && now - *told_ < (fresh ? kFirstGap : gap_)) return std::nullopt;
    gap_ = fresh ? kFirstGap : std::min(2 * gap_, kLongestGap);
    told_ = now;
    return std::exchange(pending_, 0);
  }
  // Returns the number of events that were never reported, and the time of the last, for the end of
  // the run.
  [[nodiscard]] std::uint64_t rest() { return std::exchange(pending_, 0); }
  [[nodiscard]] BootTime seen() const { return seen_; }

 private:
  std::optional<BootTime> told_;
  BootTime seen_{};
  Nanos gap_ = kFirstGap;
  std::uint64_t pending_ = 0;
};

}  // namespace corral::collect
