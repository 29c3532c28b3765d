// MetricWriter: points that a client logs over HTTP become frames of sessions that the
// server writes in the run's name (role "client").
//
// A lane is one such session with its sequence numbers and its ids of series. A run has as many
// lanes as calls log to it at the same time, usually one; calls of different lanes share a
// transaction. What is known of a lane counts until an append fails: then nobody knows how far it
// came, and the run goes on with a new one. Idle lanes take at most 32 MiB, enough for some 50,000
// runs in turn; those that nobody used for the longest time are forgotten then, and a run without
// one costs a session's row. Any thread.
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

using MetricColumns = std::span<const corral::mlflow::MetricColumn>;
// Metrics whose points the client may have logged before: it sends those of a logged model again.
using Repeated = std::set<std::string, std::less<>>;

// The series of a metric that the run's client logs; nothing when there is none.
Result<std::optional<SeriesId>> find_series(const store::Reader& reader, RunId run,
                                            std::string_view key);

class MetricWriter final : public door::State {
 public:
  MetricWriter(store::Store& store, const store::Reader& reader);
  ~MetricWriter() override;

  // All or nothing; durable when this returns. `before` is called first, in the same transaction;
  // its error is given back and nothing is stored. The run must be there. A point that the run has
  // already (same metric, time, step and value) is left out. Only points that are not newer than
  // all that their lane wrote are looked up, and those of `repeated` metrics; so one that clients
  // send at the same time through different lanes may be stored twice.
  Result<store::AppendResult> write(RunId run, MetricColumns metrics, const store::Change& before,
                                    const Repeated& repeated = {});

 private:
  struct Lane;
  using Lanes = std::list<std::unique_ptr<Lane>>;

  // `fresh`: a new one in any case.
  std::unique_ptr<Lane> take(RunId run, bool fresh);
  void give_back(std::unique_ptr<Lane> lane);
  Result<store::AppendResult> append(Lane& lane, MetricColumns metrics,
                                     const store::Change& before);
  using Columns = std::vector<corral::mlflow::MetricColumn>;
  // The columns without points that the run has; nothing when all of them are new.
  Result<std::optional<Columns>> new_points(const Lane& lane, MetricColumns metrics,
                                            const Repeated& repeated);

  store::Store& store_;
  const store::Reader reader_;
  Mutex mutex_;
  Lanes idle_ GUARDED_BY(mutex_);  // the one used last is first
  std::size_t idle_bytes_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<RunId, std::vector<Lanes::iterator>> by_run_ GUARDED_BY(mutex_);
};

// The writer of the server that `context` belongs to (compat/door.cpp makes it).
inline MetricWriter& metric_writer(Context& context) {
  return static_cast<MetricWriter&>(*context.door);
}

}  // namespace corral::server::mlflow
