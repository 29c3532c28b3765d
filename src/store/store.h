// Store: experiments, runs, points and everything else that the server keeps, over any database.
//
// Frames come in through append(), and only there; everything else reads. append() returns when
// its frames are durable (synchronous=FULL and group commit on SQLite). All functions may be called
// from any thread. Writes go through one thread (ingest/writer.h), reads through a small pool of
// connections (engine/readers.h), each call in a snapshot of its own. The store knows frames and
// tables, not HTTP, and does not reduce points: query/ does, over view(). Times in the answers are
// UTC (the session's anchor applied); batch frames stay in boot time. Everything that is not a
// frame (notes, boards, MLflow's entities...) is rows that tables/, search/ and
// compat/mlflow/tables/ read and write through inspect() and change().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/point_view.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store {

struct StoreParts;  // store_parts.h

class Store {
 public:
  explicit Store(StoreParts parts);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // kUnavailable, for good: the store's files were deleted, moved or replaced, so that what is
  // written is lost. No write is acknowledged from then on. Costs a few microseconds.
  [[nodiscard]] Result<> intact() const;

  // Frames of any sessions in the order given, decoded by codec::decode_frame before. One
  // transaction with whatever else is waiting (group commit). A frame wholly at or below
  // durable_seq is acknowledged and ignored. An Error means that nothing of this call was stored
  // (disk full, I/O): retry.
  Result<AppendResult> append(std::span<const codec::Frame> frames);
  // Only if `before` agrees, in the same transaction. A refused frame takes all of the call back,
  // what `before` wrote too, whatever the acks say.
  Result<AppendResult> append(std::span<const codec::Frame> frames, const Change& before);
  // In one transaction with whatever else is waiting; durable when this returns.
  Result<> change(const Change& change);
  // In one snapshot.
  Result<> inspect(const Inspect& inspect);
  Result<std::optional<Ack>> session(SessionId id);

  Result<std::vector<Experiment>> experiments();
  Result<std::vector<Workload>> workloads(std::optional<ExperimentId> experiment);
  Result<RunPage> runs(const RunFilter& filter);
  Result<std::optional<Run>> run(RunId id);
  // Ids of runs whose id starts with the hex prefix (at most 2: enough to say "ambiguous"), or
  // whose name is exactly `text`, newest first.
  Result<std::vector<RunId>> find_runs(std::string_view text);
  // Series of the run, of its workload, and of its host while runs of the workload were on it.
  Result<std::vector<Series>> series_of(RunId run);
  Result<std::vector<Series>> series(std::span<const SeriesId> ids);
  // Of the runs' own series, those whose name ends in `suffix` (case-sensitive): for one value per
  // row of a list.
  Result<std::vector<std::pair<RunId, Series>>> series_ending(std::span<const RunId> runs,
                                                              std::string_view suffix);
  // Calls `read` with a view of the points of these series, which must not outlive the call; an
  // error of `read` is given back. Memory grows with the series asked for (at most about 16,000
  // points each) and not with what is stored.
  Result<> view(std::span<const SeriesId> series, const std::function<Result<>(PointView&)>& read);
  // The same where charts are read from a replica, but for what was acknowledged: all of it is
  // here.
  Result<> fresh_view(std::span<const SeriesId> series,
                      const std::function<Result<>(PointView&)>& read);
  Result<std::vector<Phase>> phases(RunId run);
  // At most `limit` of those that have begun, in the order of PhasePlace.
  Result<std::vector<Phase>> phases_after(RunId run, const std::optional<PhasePlace>& place,
                                          std::size_t limit);
  Result<PhaseCounts> count_phases(RunId run);
  // Phases (session, id) that others link to, at most `limit`, in no order.
  Result<std::vector<std::pair<std::int64_t, std::uint64_t>>> linked_phases(RunId run,
                                                                            std::size_t limit);
  Result<std::vector<StoredEvent>> events(RunId run);
  Result<std::vector<LogChunk>> logs(const LogQuery& query);
  Result<std::vector<LogExtent>> log_extents(RunId run);
  Result<StoreInfo> info();
  // Reads nothing; any thread.
  [[nodiscard]] StoreActivity activity() const;
  // Runs that are there no more are left aside. They are gone for every reader when this returns;
  // their rows go piece by piece in the background. Frames of theirs that come later are
  // acknowledged and ignored. kConflict: one of them is running, and none is removed. A workload
  // goes with its last run, and so does an experiment.
  Result<Removal> remove_runs(std::span<const RunId> runs, const RemoveOptions& options);
  // With all its runs; kNotFound.
  Result<Removal> remove_experiment(ExperimentId id, const RemoveOptions& options);
  Result<Removal> prune(const Retention& retention, UtcTime now, bool dry_run);
  // Lets every point that is in a batch row rise at once (this happens by itself in time);
  // `settle`: as if all sessions had ended; what was removed is gone from the tables, too. For
  // tests, benchmarks and `corral store`.
  Result<> seal(bool settle);

 private:
  struct Machinery;
  std::unique_ptr<Machinery> machinery_;
};

}  // namespace corral::store
