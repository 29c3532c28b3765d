// Ticker: when the sampler wakes. The seam for tests that need their own time.
#pragma once

#include <cstdint>
#include <memory>

#include "core/result.h"
#include "core/time.h"

namespace corral::collect {

class Ticker {
 public:
  virtual ~Ticker() = default;
  // Sampler thread: waits for the next tick; how many have passed since the last call (1 when on
  // time), 0 once stopped.
  virtual std::uint64_t wait() = 0;
  // Sampler thread: when the first of the ticks that the last wait() counted was due.
  [[nodiscard]] virtual BootTime due() const = 0;
  // Any thread: wakes a waiting wait() at once.
  virtual void stop() = 0;
};

// Ticks at now + k * interval on CLOCK_BOOTTIME, without drift; ticks that were slept through come
// as one.
Result<std::unique_ptr<Ticker>> make_timer_ticker(Nanos interval);

}  // namespace corral::collect
