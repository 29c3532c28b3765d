// Store: experiments, runs, points and everything else that the server keeps, over any database.
//
// Frames come in through append(), and only there; reader.h reads. append() returns when its frames
// are durable (synchronous=FULL and group commit on SQLite). All functions may be called from any
// thread. Writes go through one thread (ingest/writer.h). The store knows frames and tables, not
// HTTP. Batch frames stay in boot time. Everything that is not a frame (notes, boards, MLflow's
// entities...) is rows that tables/, search/ and compat/mlflow/tables/ read and write through
// Reader::inspect() and change().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store {

struct StoreParts;  // machinery.h

class Store {
 public:
  explicit Store(StoreParts parts);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // kUnavailable, for good: the store's files were deleted, moved or replaced, so that writes would
  // be lost. No write is acknowledged from then on. Costs a few microseconds.
  [[nodiscard]] Result<> intact() const;

  // Frames of any sessions in the order given, decoded by codec::decode_frame before. One
  // transaction with whatever else is waiting (group commit). A frame wholly at or below
  // durable_seq is acknowledged and ignored. An Error means that nothing of this call was stored
  // (disk full, I/O): retry.
  // With `before`, appends only if that succeeds, in the same transaction; a refused frame then
  // rolls the whole call back, including the writes of `before`, whatever the acks say.
  Result<AppendResult> append(std::span<const codec::Frame> frames, const Change& before = {},
                              const Sender& sender = {});
  // In one transaction with whatever else is waiting; durable when this returns.
  Result<> change(const Change& change);
  Result<std::optional<Ack>> session(SessionId id);
  Result<StoreInfo> info();
  // The time now, by the one clock that all servers of the store have in common.
  Result<StoreTime> now();
  // Reads nothing; any thread.
  [[nodiscard]] StoreActivity activity() const;
  // Runs that do not exist are ignored. The removed runs are gone for every reader when this
  // returns; their rows are deleted piece by piece in the background. Their later frames are
  // acknowledged and ignored. kConflict: one of them is running, and none is removed. A workload
  // goes with its last run, and so does an experiment.
  Result<Removal> remove_runs(std::span<const RunId> runs, const RemoveOptions& options);
  // The same, of a run that is still in the trash when it is removed; else kNotFound, and it stays.
  Result<Removal> remove_trashed(RunId run, const RemoveOptions& options);
  // With all its runs; kNotFound.
  Result<Removal> remove_experiment(ExperimentId id, const RemoveOptions& options);
  Result<Removal> prune(const Retention& retention, UtcTime now, bool dry_run);
  // Removes what has been in the trash for 30 days.
  Result<Removal> empty_trash(UtcTime now);
  // Seals every point that is in a batch row now (the sealer does so by itself in time). `settle`:
  // as if all sessions had ended; also deletes the rows of removed runs. For tests, benchmarks and
  // `corral store`.
  Result<> seal(bool settle);

 private:
  friend class Reader;
  struct Machinery;
  std::unique_ptr<Machinery> machinery_;
};

}  // namespace corral::store
