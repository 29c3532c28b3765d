// The ticks of a sampler: when it wakes, and how late it was.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/result.h"
#include "core/time.h"

namespace corral::collect {

// Ticker: when the sampler wakes. The seam for tests that need their own time.
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

// Lateness: how long after their due time ticks began, as a histogram of fixed size.
//
// Eight buckets for each doubling from 1 us on, so that a quantile is at most an eighth too great;
// the greatest is exact. One thread adds, any may read.
class Lateness {
 public:
  // A tick that begins later than this after its due time is called late.
  static constexpr Nanos kLate = std::chrono::milliseconds(5);

  void add(Nanos late);
  // Adds all that `other` has seen.
  void merge(const Lateness& other);

  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  // Returns the number of ticks later than kLate.
  [[nodiscard]] std::uint64_t late() const { return late_.load(std::memory_order_relaxed); }
  // The upper end of the bucket that holds the quantile, never above the greatest; 0 without ticks.
  [[nodiscard]] Nanos quantile(double q) const;
  [[nodiscard]] Nanos greatest() const { return Nanos(greatest_.load(std::memory_order_relaxed)); }

 private:
  static constexpr std::size_t kBuckets = 256;
  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> late_{0};
  std::atomic<std::int64_t> greatest_{0};
};

}  // namespace corral::collect
