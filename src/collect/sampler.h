// Sampler: runs the listeners of one `corral run` on one thread and hands their rows to the
// supervisor.
//
// Flow: Ticker -> listeners fill a row of the ring -> the supervisor drains rows and encodes
// frames. The sampler thread never waits for the consumer, never forks and never allocates once it
// runs; a full ring or a late wake-up is counted, not made up for. Ticks lie on an absolute grid of
// CLOCK_BOOTTIME from start() on; a row's time is when its reads were done. Threads: open, start,
// stop and drain on the supervisor's; the counters and switches may be used from any.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "collect/listener.h"
#include "collect/row_ring.h"
#include "collect/self_series.h"
#include "collect/series.h"
#include "collect/ticker.h"
#include "collect/tree/perf_counters.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::collect {

struct SamplerOptions {
  std::vector<std::string> listeners =
      {};  // names of listeners(); none is allowed: only what Corral costs is sampled
  Nanos interval = std::chrono::milliseconds(100);
  Nanos slow_interval = std::chrono::seconds(1);  // rounded down to whole intervals, at least one
  std::filesystem::path root = "/";
  pid_t run_pid = 0;         // 0: no run
  pid_t supervisor_pid = 0;  // 0: this process
  PerfCounters perf = {};
  std::size_t ring_rows = 512;  // fewer when rows are so wide that the ring would pass 4 MiB
  std::unique_ptr<Ticker> ticker = nullptr;  // for tests; none: a timer
};

class Sampler {
 public:
  // Opens every file and declares every series. kInvalidArgument for an unknown listener (it names
  // the nearest right one and lists all) and for an interval outside 1 ms ... 1 h.
  static Result<std::unique_ptr<Sampler>> open(SamplerOptions options);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  static constexpr int group_count() { return kGroupCount; }  // 0: every tick, 1: slow
  // Column c of a row of that group; fixed from open() on.
  [[nodiscard]] std::span<const SeriesInfo> series(int group) const;
  // Fixed from open() on.
  [[nodiscard]] std::span<const Unavailable> unavailable() const { return table_.missing(); }

  // Samples at once and then at every tick. Once only; an error when no timer is to be had.
  Result<> start();
  // Ends the sampler's sleep, takes one last sample of everything and joins. Harmless when not
  // started or again.
  void stop();

  // Whether series whose owner is the workload are sampled; on at first. Takes effect with the next
  // tick.
  void set_workload_sampling(bool on) { workload_sampling_.store(on, std::memory_order_relaxed); }
  void set_bytes_written(std::uint64_t bytes) {
    bytes_written_.store(bytes, std::memory_order_relaxed);
  }

  // One consumer thread: all rows since the last call, in order.
  using RowView = collect::RowView;
  void drain(const std::function<void(const RowView&)>& take) { ring_->drain(take); }

  [[nodiscard]] std::uint64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t missed_ticks() const {
    return missed_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped_rows() const {
    return dropped_.load(std::memory_order_relaxed);
  }

 private:
  struct Source {
    const ListenerEntry* entry;
    std::unique_ptr<Listener> listener;  // null when it has nothing to measure here
    bool slow;                           // it declared slow series
  };

  explicit Sampler(SamplerOptions options);
  Result<> open_listeners();
  void run();
  void sample(Group group);

  SamplerOptions options_;
  SeriesTable table_;
  std::vector<Source> sources_;
  std::optional<SelfSeries> self_;
  std::unique_ptr<RowRing> ring_;
  std::unique_ptr<Ticker> ticker_;
  std::atomic<bool> workload_sampling_{true};
  std::atomic<std::uint64_t> bytes_written_{0};
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<std::uint64_t> missed_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::thread thread_;
};

}  // namespace corral::collect
