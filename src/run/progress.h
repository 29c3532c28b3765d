// Progress: how far a run is, in a few values, for the scheduler that started it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/time.h"
#include "spool/segment_parse.h"

namespace corral::run {

struct Progress {
  std::string phase{};  // "epoch 3"; empty: none was seen
  std::optional<std::int64_t> step{};
  std::optional<double> loss{};
  std::optional<double> cores{};  // CPUs' worth of time over the last second or more
  // Share of time that a GPU was busy, by index and by UUID; only in the run that samples its
  // workload's devices.
  std::vector<std::pair<std::string, double>> gpus{};
  bool operator==(const Progress&) const = default;
};

// ProgressWatch: keeps the newest recorded values of a run as its Progress.
//
// The loss is the series that the lists show (metric/loss_name.h). The step is that of the loss,
// else of the newest point that has one. The phase is the innermost open one of the long phases:
// the script's outermost, epochs, evaluations and checkpoints. If several processes log, the newest
// value counts. Thread-safe; a call blocks others only for a look-up.
class ProgressWatch {
 public:
  // Takes records of a training process, in order.
  void records(const SessionId& session, std::span<const spool::Record> records);
  // Takes samples of the supervisor's own session; each series is declared before its points.
  void samples(const codec::SchemaBody& schema, const codec::SamplesBody& samples);
  // Takes one point of the run that came by another way.
  void point(std::string_view name, std::optional<std::int64_t> step, double value);
  // `source`: "gpu0".
  void name_gpu(std::string_view source, std::string_view uuid);

  [[nodiscard]] Progress now() const;

 private:
  struct Open {
    SessionId session;
    std::uint64_t id = 0;
    std::string label;
  };
  void note(bool loss, std::optional<std::int64_t> step, double value) REQUIRES(mutex_);
  bool takes_loss(std::string_view name) REQUIRES(mutex_);
  void declare(const codec::SeriesDef& series) REQUIRES(mutex_);
  void note_cpu(BootTime at, double used) REQUIRES(mutex_);
  void note_column(const codec::SampleGroup& group, const codec::Column& column) REQUIRES(mutex_);
  void note_phase(const SessionId& session, const codec::PhaseRecord& phase) REQUIRES(mutex_);
  void add_loss(const SessionId& session, std::uint32_t series) REQUIRES(mutex_);
  [[nodiscard]] bool is_loss(const SessionId& session, std::uint32_t series) const REQUIRES(mutex_);

  mutable Mutex mutex_;
  Progress progress_ GUARDED_BY(mutex_);
  std::string loss_name_ GUARDED_BY(mutex_);
  bool step_of_loss_ GUARDED_BY(mutex_) = false;
  std::deque<std::pair<SessionId, std::uint32_t>> losses_
      GUARDED_BY(mutex_);  // the series of the loss
  std::vector<Open> open_ GUARDED_BY(mutex_);
  // The supervisor's own series.
  std::optional<std::uint32_t> cpu_series_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, std::string> gpu_series_ GUARDED_BY(mutex_);  // sources
  std::optional<std::pair<BootTime, double>> cpu_ GUARDED_BY(mutex_);
  std::map<std::string, double, std::less<>> gpus_ GUARDED_BY(mutex_);        // by source
  std::map<std::string, std::string, std::less<>> uuids_ GUARDED_BY(mutex_);  // likewise
};

}  // namespace corral::run
