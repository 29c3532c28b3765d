// Rate: how often each of many clients may do something, as a token bucket per key.
//
// Memory is bounded: when too many keys are in use, new ones share a bucket. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/mutex.h"
#include "core/time.h"

namespace corral::server {

class Rate {
 public:
  static constexpr std::size_t kMostKeys = 10'000;

  // `burst` at once, and then one each `pause`.
  Rate(int burst, Nanos pause) : burst_(burst), pause_(pause) {}

  // Takes one; else the time until there will be one, in whole seconds, at least 1.
  std::optional<std::chrono::seconds> take(std::string_view key, BootTime now);

 private:
  const int burst_;
  const Nanos pause_;

  Mutex mutex_;
  // When the bucket of a key will be full again.
  std::map<std::string, BootTime, std::less<>> full_at_ GUARDED_BY(mutex_);
  BootTime swept_ GUARDED_BY(mutex_){};
};

}  // namespace corral::server
