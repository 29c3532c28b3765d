// MetricWriter: writes points that a client logs over HTTP as frames of sessions in the run's name
// (role "client").
//
// A lane is one such session with its sequence numbers and its ids of series. A run has as many
// lanes as calls log to it at the same time, usually one; calls of different lanes share a
// transaction. A lane is discarded when an append fails, because the number of stored frames is
// then unknown, and the run continues with a new lane. Idle lanes take at most 32 MiB, enough for
// some 50,000 runs in turn; beyond that the least recently used ones are forgotten, and the next
// call for such a run costs a session's row. Any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/frame.h"
#include "compat/mlflow/wire/log_batch.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "core/result.h"
#include "server/core/door.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::server::mlflow {

namespace wire = corral::mlflow;

using MetricColumns = std::span<const wire::MetricColumn>;
// Metrics whose points may be stored already: clients send those of a logged model twice.
using Repeated = std::set<std::string, std::less<>>;

// Returns the series of a metric that the run's client logs, or nullopt if there is none.
Result<std::optional<SeriesId>> find_series(const store::Reader& reader, RunId run,
                                            std::string_view key);

class MetricWriter final : public door::State {
 public:
  MetricWriter(store::Store& store, const store::Reader& reader);
  ~MetricWriter() override;

  // Stores all points or none; they are durable when this returns. `before` is called first, in the
  // same transaction; if it fails, its error is returned and nothing is stored. The run must exist.
  // A point that the run already has (same metric, time, step and value) is skipped. Only points of
  // `repeated` metrics and points that are not newer than all points of their lane are looked up,
  // so a point that clients send at the same time through different lanes may be stored twice.
  Result<store::AppendResult> write(RunId run, MetricColumns metrics, const store::Change& before,
                                    const Repeated& repeated = {});

 private:
  struct Lane;
  using Lanes = std::list<std::unique_ptr<Lane>>;

  // `fresh` requests a new lane in any case.
  std::unique_ptr<Lane> acquire(RunId run, bool fresh);
  void release(std::unique_ptr<Lane> lane);
  Result<store::AppendResult> append(Lane& lane, MetricColumns metrics,
                                     const store::Change& before);
  using Columns = std::vector<wire::MetricColumn>;
  // Returns the columns without points that the run has, or nullopt when all points are new.
  Result<std::optional<Columns>> new_points(const Lane& lane, MetricColumns metrics,
                                            const Repeated& repeated);

  // Constant after construction.
  store::Store& store_;
  const store::Reader reader_;

  Mutex mutex_;
  // Guarded by mutex_.
  Lanes idle_ GUARDED_BY(mutex_);  // the most recently used lane is first
  std::size_t idle_bytes_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<RunId, std::vector<Lanes::iterator>> by_run_ GUARDED_BY(mutex_);
};

// The writer of the server that `context` belongs to (compat/door.cpp makes it).
inline MetricWriter& metric_writer(Context& context) {
  return static_cast<MetricWriter&>(*context.door);
}

}  // namespace corral::server::mlflow
