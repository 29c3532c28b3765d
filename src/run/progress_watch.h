// ProgressWatch: the newest of what is recorded of a run anyway, kept as its Progress.
//
// The loss is the series that the lists show (metric/loss_name.h). The step is that of the loss,
// else of the newest point that has one. The phase is the innermost open one of those that last:
// the script's outermost, epochs, evaluations and checkpoints. Of several processes that log the
// newest counts. Thread-safe; a call holds nobody up for longer than it takes to look.
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
#include "run/progress.h"
#include "spool/segment_parse.h"

namespace corral::run {

class ProgressWatch {
 public:
  // What a training process logged, in order.
  void records(const SessionId& session, std::span<const spool::Record> records);
  // What the supervisor writes in its own session: each series is declared before its points.
  void samples(const codec::SchemaBody& schema, const codec::SamplesBody& samples);
  // One point of the run's own, by another way.
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
      GUARDED_BY(mutex_);  // series that are called so
  std::vector<Open> open_ GUARDED_BY(mutex_);
  // Of the supervisor's own series.
  std::optional<std::uint32_t> cpu_series_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, std::string> gpu_series_ GUARDED_BY(mutex_);  // sources
  std::optional<std::pair<BootTime, double>> cpu_ GUARDED_BY(mutex_);
  std::map<std::string, double, std::less<>> gpus_ GUARDED_BY(mutex_);        // by source
  std::map<std::string, std::string, std::less<>> uuids_ GUARDED_BY(mutex_);  // likewise
};

}  // namespace corral::run
