// Sampler: runs listeners of one `corral run` on one thread and hands their rows to the supervisor.
//
// Flow: Ticker -> listeners fill a row of the ring -> the supervisor drains rows and encodes
// frames. The sampler thread never waits for the consumer, never forks and never allocates once it
// runs; a full ring or a late wake-up is counted and not repeated. Ticks lie on an absolute grid of
// CLOCK_BOOTTIME that begins at start(); a row's time is the end of its reads. A listener that
// keeps taking longer than the interval is read once a second, after all others. Threads: the
// supervisor's thread calls open, start, stop, drain and take_problems; any thread may use the
// counters and switches.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "collect/sampler/sampling.h"
#include "collect/series.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::collect {

class Sampler {
 public:
  // Opens every file and declares every series, unless `open_late`. kInvalidArgument: an unknown
  // listener (the message names the nearest one and lists all), or an interval outside 1 ms to 1 h.
  static Result<std::unique_ptr<Sampler>> open(SamplerOptions options);
  ~Sampler();  // waits for the thread unless it was left behind
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  static constexpr int group_count() { return kGroupCount; }  // 0: every tick, 1: slow
  // Returns true once the listeners are open; before that there are no series and no rows.
  [[nodiscard]] bool opened() const { return work_->opened(); }
  // Column c of a row of that group, or of a point of kTimedGroup; fixed once opened.
  [[nodiscard]] std::span<const SeriesInfo> series(int group) const;
  [[nodiscard]] std::span<const Unavailable> unavailable() const;
  [[nodiscard]] std::span<const Description> descriptions() const;
  // Returns each listener's health when it was opened; take_problems() reports later changes.
  [[nodiscard]] std::span<const metric::Health> health() const;

  // Samples at once and then at every tick. Call it once; fails if no timer is available.
  Result<> start();
  // Ends the sampler's sleep, takes one last sample of everything and joins. Does nothing if not
  // started or already stopped.
  void stop();
  // The same in two steps: requests the end, then waits for it until the deadline. Returns false if
  // a listener has not returned; the thread is then left behind with everything that it owns.
  void ask_to_stop();
  bool wait_stopped(BootTime deadline);

  // Switches the sampling of series whose owner is the host, from the next tick on (default: on).
  void set_host_sampling(bool on) { work_->host_sampling.store(on, std::memory_order_relaxed); }
  void set_bytes_written(std::uint64_t bytes) {
    work_->bytes_written.store(bytes, std::memory_order_relaxed);
  }

  // Passes all rows since the last call in order. One consumer thread.
  using RowView = collect::RowView;
  void drain(const std::function<void(const RowView&)>& take) { work_->drain(take); }
  // The same for points of kTimedGroup; the points of one series are in the order of their times.
  void drain_timed(const std::function<void(const TimedPoint&)>& take) { work_->drain_timed(take); }
  // Returns new problems: listeners that have become slow, do not answer or lost a device.
  std::vector<Problem> take_problems() { return work_->take_problems(); }
  // Returns the listener that is being read now; empty: none.
  [[nodiscard]] std::string busy_listener() const { return work_->busy_listener(); }

  // Returns the lane from the options.
  [[nodiscard]] const std::string& lane() const { return work_->lane(); }
  [[nodiscard]] std::uint64_t ticks() const { return work_->ticks.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t missed_ticks() const {
    return work_->missed.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped_rows() const {
    return work_->dropped.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const Lateness& lateness() const { return work_->lateness(); }

 private:
  explicit Sampler(std::shared_ptr<Sampling> work) : work_(std::move(work)) {}

  // Constant after construction; shared with the sampling thread.
  std::shared_ptr<Sampling> work_;

  // Only the owner's thread.
  std::shared_ptr<Ticker> ticker_;  // the sampling thread holds a copy
  Nanos interval_{0};
  bool late_ = false;
  std::string thread_name_;
  std::future<void> ended_;
  std::jthread thread_;
};

}  // namespace corral::collect
