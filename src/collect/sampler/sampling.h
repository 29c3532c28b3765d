// Sampling: the state of a sampler's thread: its listeners, their columns, the ring and the clock.
//
// The thread and the Sampler share it, so that a thread that hangs in a vendor library can be left
// behind with everything that it may still use. One thread calls open() and run(), or the starter
// calls open() before it; comments name the threads of the other functions.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/listener.h"
#include "collect/news.h"
#include "collect/proc_file.h"
#include "collect/row_ring.h"
#include "collect/sampler/ticks.h"
#include "collect/series.h"
#include "collect/tree/perf_counters.h"
#include "core/result.h"
#include "core/time.h"
#include "metric/health.h"

namespace corral::collect {

struct SamplerOptions {
  std::vector<std::string> listeners =
      {};  // names of listeners(); none is allowed: only what Corral costs is sampled
  std::vector<const ListenerEntry*> entries = {};  // beside them, also ones that no table lists
  Nanos interval = std::chrono::milliseconds(100);
  Nanos slow_interval = std::chrono::seconds(1);  // rounded down to whole intervals, at least one
  std::filesystem::path root = "/";
  pid_t run_pid = 0;         // 0: no run
  pid_t supervisor_pid = 0;  // 0: this process
  PerfCounters perf = {};
  std::vector<std::string> device_uuids = {};  // as in ListenerContext
  std::string library_path = {};
  std::size_t ring_rows = 512;  // fewer when rows are so wide that the ring would pass 4 MiB
  std::string lane = {};        // source of the series about its cost; empty: the host's
  bool open_late = false;       // opens its listeners on its own thread, after start()
  std::unique_ptr<Ticker> ticker = nullptr;  // for tests; none: a timer
};

// The overhead of measuring, as series of the run: corral.collector.* of one lane, and
// corral.supervisor.* and the written bytes on the host's. Its sampling thread only.
struct SamplerCounts {
  std::uint64_t missed_ticks = 0;
  std::uint64_t dropped_rows = 0;
  std::uint64_t bytes_written = 0;
  Nanos lateness{0};
};

class SelfSeries {
 public:
  // The name of a listener and a flag for slow reads.
  struct Name {
    std::string_view name;
    bool slow;
  };
  // `lane` is the source of the lane's series; the host's is empty.
  SelfSeries(const std::string& lane, std::span<const Name> listeners, SeriesTable& table);

  // Records the duration of one listener's reads, by its place in the list of listeners.
  void sample_latency(Group group, std::size_t listener, Nanos took, Row& row) const;
  void sample_slow(const SamplerCounts& counts, Row& row);

 private:
  void add_supervisor(SeriesTable& table);

  std::optional<ProcFile> statm_;
  std::vector<Column> latency_[kGroupCount];
  Column collector_cpu_, wakeups_, lateness_, missed_, dropped_;
  Column bytes_ = kNoColumn;  // these on the host's lane only
  Column supervisor_cpu_ = kNoColumn;
  Column supervisor_wakeups_ = kNoColumn;
  Column supervisor_rss_ = kNoColumn;
};

// New problems of listeners and recoveries from them, each once.
struct Problem {
  std::string source;  // a listener, "gpu0", or a pattern of metrics
  std::string text;
  bool missing;  // its values are no longer available
  metric::HealthState state;
  bool note = false;  // for the journal alone
};

class Sampling {
 public:
  Sampling(SamplerOptions options, const std::vector<const ListenerEntry*>& entries);

  // Opens every file or library and declares every series.
  void open();
  // Samples at once, at every tick and once more when the ticker stops.
  void run(Ticker& ticker);

  // Any thread. The results are complete and constant once opened() returns true.
  [[nodiscard]] bool opened() const { return opened_.load(std::memory_order_acquire); }
  [[nodiscard]] const SeriesTable& table() const { return table_; }
  // Returns the health of each listener, in the order of sampling.
  [[nodiscard]] std::span<const metric::Health> health() const { return health_; }
  [[nodiscard]] const Lateness& lateness() const { return lateness_; }
  [[nodiscard]] const std::string& lane() const { return options_.lane; }
  std::atomic<bool> host_sampling{true};
  std::atomic<std::uint64_t> bytes_written{0};
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<std::uint64_t> missed{0};
  std::atomic<std::uint64_t> dropped{0};

  // Only the consumer's thread.
  void drain(const std::function<void(const RowView&)>& take);
  void drain_timed(const std::function<void(const TimedPoint&)>& take);
  std::vector<Problem> take_problems();
  // Returns the listeners that are being opened or read now.
  [[nodiscard]] std::string busy_listener() const;

 private:
  // The pace of one part of a listener. A part that keeps taking longer than the interval is read
  // only every kSlowPace-th time.
  struct Pace {
    bool there = false;
    int over = 0;                       // reads in succession that took longer than the interval
    std::uint64_t turn = 0;             // reads asked for since it became slow
    std::atomic<std::int64_t> slow{0};  // ns of the read that made it slow; 0: it is not
    bool reported = false;              // only the consumer's thread
  };
  struct Source {
    const ListenerEntry* entry = nullptr;
    std::unique_ptr<Listener> listener;  // null when it has nothing to measure here
    Pace pace[kGroupCount];
    bool reported_hung = false;  // only the consumer's thread
  };

  void open(Source& source);
  [[nodiscard]] std::size_t declared() const;  // series, of all groups
  // `second` includes the slow parts.
  void sample(Group group, bool second);
  void sample_last();
  void note_lateness(Nanos late);
  // Reads all parts that are not slow, a second time if the reads were interrupted. Returns the
  // row's time: the end of the reads, but their begin for the host's fast group, which reads the
  // CPUs first.
  BootTime read_at_once(Group group, Row& row);
  // Reads the slow parts, or the others, and returns the end of the reads.
  BootTime read_all(Group group, bool slow, Row& row);
  void note_duration(Pace& pace, Nanos took) const;
  void set_busy(std::size_t index, BootTime since);
  void report_slow(Source& source, std::vector<Problem>& problems) const;
  void report_hung(std::vector<Problem>& problems);

  // Constant once opened() returns true; open() fills them on the sampling thread.
  SamplerOptions options_;
  SeriesTable table_;
  std::vector<metric::Health> health_;
  std::optional<SelfSeries> self_;
  std::unique_ptr<RowRing> ring_;       // safe for one producer and one consumer
  std::unique_ptr<TimedPoints> timed_;  // null if no series has times of its own
  std::shared_ptr<News> news_ = std::make_shared<News>();

  // Only the sampling thread, except for `entry`, which is constant, and the members that Pace and
  // Source mark.
  std::deque<Source> sources_;
  Nanos latest_lateness_{0};  // the greatest since the last slow row
  Nanos quickest_{0};         // the shortest fast read of the host; 0: none yet
  BootTime host_row_;         // the newest row with the host's values, before the last sample
  bool last_ = false;         // true during the last sample, in which every part has its turn

  // Any thread.
  Lateness lateness_;
  std::atomic<bool> opened_{false};
  // The source that the thread is in, and since when (boot time in ns; 0: in none).
  std::atomic<std::size_t> busy_{0};
  std::atomic<std::int64_t> busy_since_{0};
};

}  // namespace corral::collect
