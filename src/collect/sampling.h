// Sampling: the state of a sampler's thread: its listeners, their columns, the ring and the clock.
//
// The thread and the Sampler share it, so that a thread which a vendor library never gives back can
// be left behind with all it may still touch. open() and run() are called by one thread (open() may
// be called by the starter, before run()); the others name their threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collect/lateness.h"
#include "collect/listener.h"
#include "collect/news.h"
#include "collect/row_ring.h"
#include "collect/sampler_options.h"
#include "collect/self_series.h"
#include "collect/series.h"
#include "collect/ticker.h"
#include "collect/timed_points.h"
#include "core/result.h"
#include "core/time.h"
#include "metric/health.h"

namespace corral::collect {

// New problems of listeners and recoveries from them, each once.
struct Problem {
  std::string source;  // a listener, "gpu0", or a pattern of metrics
  std::string text;
  bool missing;  // its values have ended
  metric::HealthState state;
};

class Sampling {
 public:
  Sampling(SamplerOptions options, const std::vector<const ListenerEntry*>& entries);

  // Opens every file or library and declares every series.
  void open();
  // Samples at once, at every tick and once more when the ticker stops.
  void run(Ticker& ticker);

  // Any thread. Their results are complete and fixed once opened() returns true.
  [[nodiscard]] bool opened() const { return opened_.load(std::memory_order_acquire); }
  [[nodiscard]] const SeriesTable& table() const { return table_; }
  // Health of each listener, in the order of sampling.
  [[nodiscard]] std::span<const metric::Health> health() const { return health_; }
  [[nodiscard]] const Lateness& lateness() const { return lateness_; }
  [[nodiscard]] const std::string& lane() const { return options_.lane; }
  std::atomic<bool> host_sampling{true};
  std::atomic<std::uint64_t> bytes_written{0};
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<std::uint64_t> missed{0};
  std::atomic<std::uint64_t> dropped{0};

  // The one consumer's.
  void drain(const std::function<void(const RowView&)>& take);
  void drain_timed(const std::function<void(const TimedPoint&)>& take);
  std::vector<Problem> take_problems();
  // Listeners that are being opened or read right now.
  [[nodiscard]] std::string busy_listener() const;

 private:
  // One part of a listener, and how often it is read: a part that keeps taking longer than the
  // interval is read every kSlowPace-th time only.
  struct Pace {
    bool there = false;
    int over = 0;                       // reads in succession that took longer than the interval
    std::uint64_t turn = 0;             // reads asked for since it became slow
    std::atomic<std::int64_t> slow{0};  // ns of the read that made it slow; 0: it is not
    bool told = false;                  // the consumer's
  };
  struct Source {
    const ListenerEntry* entry = nullptr;
    std::unique_ptr<Listener> listener;  // null when it has nothing to measure here
    Pace pace[kGroupCount];
    bool told_hung = false;  // the consumer's
  };

  void open(Source& source);
  [[nodiscard]] std::size_t declared() const;  // series, of all groups
  // `second`: slow parts have their turn, too.
  void sample(Group group, bool second);
  void sample_last();
  void note_lateness(Nanos late);
  // Reads all that is not slow, and once more after an interruption. The row's time: when that was
  // done, of the host's fast group when it began, as the CPUs are read first.
  BootTime read_at_once(Group group, Row& row);
  // Reads the parts that are slow, or those that are not; when that was done.
  BootTime read_all(Group group, bool slow, Row& row);
  void judge(Pace& pace, Nanos took) const;
  void hold(std::size_t index, BootTime since);
  void take_slow(Source& source, std::vector<Problem>& problems) const;
  void take_hung(std::vector<Problem>& problems);

  SamplerOptions options_;
  SeriesTable table_;
  std::vector<metric::Health> health_;
  std::deque<Source> sources_;
  std::optional<SelfSeries> self_;
  std::unique_ptr<RowRing> ring_;
  std::unique_ptr<TimedPoints> timed_;  // null: no series has times of its own
  std::shared_ptr<News> news_ = std::make_shared<News>();
  Lateness lateness_;
  Nanos latest_lateness_{0};  // the greatest since the last slow row
  Nanos quickest_{0};         // the least that the host's fast reads took; 0: none was made yet
  BootTime host_row_;         // the newest with the host's values, before the last sample
  bool last_ = false;         // this is the last sample: everything has its turn
  std::atomic<bool> opened_{false};
  // The source that the thread is in, and since when (boot time in ns; 0: in none).
  std::atomic<std::size_t> busy_{0};
  std::atomic<std::int64_t> busy_since_{0};
};

}  // namespace corral::collect
