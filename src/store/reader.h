// Reader: reads a store, as far as its Access allows. The only way to read one.
//
// A value that is cheap to copy; the store outlives it. Each call reads in a snapshot of its own,
// through a small pool of connections (engine/readers.h). All functions may be called from any
// thread. The store does not reduce points: query/ does, over view(). Times in the answers are UTC
// (the session's anchor applied).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/model/point_view.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store {

class Store;

class Reader {
 public:
  Reader(Store& store, Access access) : store_(&store), access_(std::move(access)) {}

  [[nodiscard]] const Access& access() const { return access_; }
  // In one snapshot.
  Result<> inspect(const Inspect& inspect) const;
  Result<std::vector<Experiment>> experiments() const;
  Result<std::vector<Workload>> workloads(std::optional<ExperimentId> experiment) const;
  Result<RunPage> runs(const RunFilter& filter) const;
  Result<std::optional<Run>> run(RunId id) const;
  // Ids of runs whose id starts with the hex prefix (at most 2: enough to say "ambiguous"), or
  // whose name is exactly `text`, newest first.
  Result<std::vector<RunId>> find_runs(std::string_view text) const;
  // Series of the run, of its workload, and of its host while runs of the workload were on it.
  Result<std::vector<Series>> series_of(RunId run) const;
  Result<std::vector<Series>> series(std::span<const SeriesId> ids) const;
  // The runs' own series whose name ends in `suffix` (case-sensitive): for one value per
  // row of a list.
  Result<std::vector<std::pair<RunId, Series>>> series_ending(std::span<const RunId> runs,
                                                              std::string_view suffix) const;
  // Calls `read` with a view of the points of these series, which must not outlive the call; an
  // error of `read` is given back. Memory grows with the series asked for (at most about 16,000
  // points each) and not with what is stored.
  Result<> view(std::span<const SeriesId> series, const std::function<Result<>(PointView&)>& read,
                Levels levels = Levels::kAll) const;
  // The same where charts are read from a replica, but for what was acknowledged: all of it is
  // here.
  Result<> fresh_view(std::span<const SeriesId> series,
                      const std::function<Result<>(PointView&)>& read) const;
  Result<std::vector<Phase>> phases(RunId run) const;
  // At most `limit` of those that have begun, in the order of PhasePlace.
  Result<std::vector<Phase>> phases_after(RunId run, const std::optional<PhasePlace>& place,
                                          std::size_t limit) const;
  Result<PhaseCounts> count_phases(RunId run) const;
  // Phases (session, id) that others link to, at most `limit`, in no order.
  Result<std::vector<std::pair<std::int64_t, std::uint64_t>>> linked_phases(
      RunId run, std::size_t limit) const;
  Result<std::vector<StoredEvent>> events(RunId run) const;
  Result<std::vector<LogChunk>> logs(const LogQuery& query) const;
  Result<std::vector<LogExtent>> log_extents(RunId run) const;

 private:
  template <class Read, class... Arguments>
  auto call(Read read, const Arguments&... arguments) const;

  Store* store_;
  Access access_;
};

}  // namespace corral::store
