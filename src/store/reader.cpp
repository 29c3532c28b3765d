#include "store/reader.h"

#include "store/machinery.h"
#include "store/read/reads.h"

namespace corral::store {

using sql::Connection;

Result<> Reader::inspect(const Inspect& inspect) const {
  return store_->machinery_->read(access_, [&](Connection& db) -> Result<> {
    Reading reading({.db = db, .latest = store_->machinery_->latest}, access_);
    return inspect(reading);
  });
}

// Calls read(connection, arguments...) in a snapshot.
template <class Read, class... Arguments>
auto Reader::call(Read read, const Arguments&... arguments) const {
  return store_->machinery_->read(access_, [&](Connection& db) { return read(db, arguments...); });
}

Result<std::vector<Experiment>> Reader::experiments() const { return call(sql::read_experiments); }

Result<std::vector<Workload>> Reader::workloads(std::optional<ExperimentId> experiment) const {
  return call(sql::read_workloads, experiment);
}

Result<RunPage> Reader::runs(const RunFilter& filter) const { return call(sql::read_runs, filter); }

Result<std::optional<Run>> Reader::run(RunId id) const { return call(sql::read_run, id); }

Result<std::vector<RunId>> Reader::find_runs(std::string_view text) const {
  return call(sql::read_matching_runs, text);
}

Result<std::vector<Series>> Reader::series_of(RunId run) const {
  return store_->machinery_->read(access_, [&](Connection& db) {
    return sql::read_run_series(db, store_->machinery_->caches, run);
  });
}

Result<std::vector<Series>> Reader::series(std::span<const SeriesId> ids) const {
  return store_->machinery_->read(access_, [&](Connection& db) {
    return sql::read_series(db, store_->machinery_->caches, ids);
  });
}

Result<std::vector<std::pair<RunId, Series>>> Reader::series_ending(std::span<const RunId> runs,
                                                                    std::string_view suffix) const {
  return store_->machinery_->read(access_, [&](Connection& db) {
    return sql::read_series_ending(db, store_->machinery_->caches, runs, suffix);
  });
}

Result<> Reader::view(std::span<const SeriesId> series,
                      const std::function<Result<>(PointView&)>& read, Levels levels) const {
  TRY(store_->machinery_->check_seen(access_, series));
  return store_->machinery_->view(store_->machinery_->charts(), series, read, levels);
}

Result<> Reader::fresh_view(std::span<const SeriesId> series,
                            const std::function<Result<>(PointView&)>& read) const {
  TRY(store_->machinery_->check_seen(access_, series));
  return store_->machinery_->view(store_->machinery_->readers, series, read, Levels::kAll);
}

Result<std::vector<Phase>> Reader::phases(RunId run) const { return call(sql::read_phases, run); }

Result<std::vector<Phase>> Reader::phases_after(RunId run, const std::optional<PhasePlace>& place,
                                                std::size_t limit) const {
  return call(sql::read_phases_after, run, place, limit);
}

Result<PhaseCounts> Reader::count_phases(RunId run) const {
  return call(sql::read_phase_counts, run);
}

Result<std::vector<std::pair<std::int64_t, std::uint64_t>>> Reader::linked_phases(
    RunId run, std::size_t limit) const {
  return call(sql::read_linked_phases, run, limit);
}

Result<std::vector<StoredEvent>> Reader::events(RunId run) const {
  return call(sql::read_events, run);
}

Result<std::vector<LogChunk>> Reader::logs(const LogQuery& query) const {
  return call(sql::read_logs, query);
}

Result<std::vector<LogExtent>> Reader::log_extents(RunId run) const {
  return call(sql::read_log_extents, run);
}

}  // namespace corral::store
