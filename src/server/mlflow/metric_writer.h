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
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "mlflow/log_batch.h"
#include "store/store.h"

namespace corral::server::mlflow {

using MetricColumns = std::span<const corral::mlflow::MetricColumn>;

class MetricWriter {
 public:
  explicit MetricWriter(store::Store& store);
  ~MetricWriter();

  // All or nothing; durable when this returns. `before` is called first, in the same transaction;
  // its error is given back and nothing is stored. The run must be there.
  Result<store::AppendResult> write(RunId run, MetricColumns metrics, const store::Change& before);

 private:
  struct Lane;
  using Lanes = std::list<std::unique_ptr<Lane>>;

  // `fresh`: a new one in any case.
  std::unique_ptr<Lane> take(RunId run, bool fresh);
  void give_back(std::unique_ptr<Lane> lane);
  Result<store::AppendResult> append(Lane& lane, MetricColumns metrics,
                                     const store::Change& before);

  store::Store& store_;
  std::mutex mutex_;
  Lanes idle_;  // the one used last is first
  std::size_t idle_bytes_ = 0;
  std::unordered_map<RunId, std::vector<Lanes::iterator>> by_run_;
};

}  // namespace corral::server::mlflow
