#include "store/reader.h"

#include "store/machinery.h"
#include "store/read/reads.h"

namespace corral::store {

using sql::Connection;

Result<> Reader::inspect(const Inspect& inspect) const {
  return store_->machinery_->readers.with([&](Connection& db) -> Result<> {
    Reading reading({.db = db, .latest = store_->machinery_->latest}, access_);
    return inspect(reading);
  });
}

Result<std::vector<Experiment>> Reader::experiments() const {
  return store_->machinery_->readers.with(sql::read_experiments);
}

Result<std::vector<Workload>> Reader::workloads(std::optional<ExperimentId> experiment) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_workloads(db, experiment); });
}

Result<RunPage> Reader::runs(const RunFilter& filter) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_runs(db, filter); });
}

Result<std::optional<Run>> Reader::run(RunId id) const {
  return store_->machinery_->readers.with([&](Connection& db) { return sql::read_run(db, id); });
}

Result<std::vector<RunId>> Reader::find_runs(std::string_view text) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_matching_runs(db, text); });
}

Result<std::vector<Series>> Reader::series_of(RunId run) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_series_of(db, store_->machinery_->caches, run); });
}

Result<std::vector<Series>> Reader::series(std::span<const SeriesId> ids) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_series(db, store_->machinery_->caches, ids); });
}

Result<std::vector<std::pair<RunId, Series>>> Reader::series_ending(std::span<const RunId> runs,
                                                                    std::string_view suffix) const {
  return store_->machinery_->readers.with([&](Connection& db) {
    return sql::read_series_ending(db, store_->machinery_->caches, runs, suffix);
  });
}

Result<> Reader::view(std::span<const SeriesId> series,
                      const std::function<Result<>(PointView&)>& read) const {
  return store_->machinery_->view(store_->machinery_->charts(), series, read);
}

Result<> Reader::fresh_view(std::span<const SeriesId> series,
                            const std::function<Result<>(PointView&)>& read) const {
  return store_->machinery_->view(store_->machinery_->readers, series, read);
}

Result<std::vector<Phase>> Reader::phases(RunId run) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_phases(db, run); });
}

Result<std::vector<Phase>> Reader::phases_after(RunId run, const std::optional<PhasePlace>& place,
                                                std::size_t limit) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_phases_after(db, run, place, limit); });
}

Result<PhaseCounts> Reader::count_phases(RunId run) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_phase_counts(db, run); });
}

Result<std::vector<std::pair<std::int64_t, std::uint64_t>>> Reader::linked_phases(
    RunId run, std::size_t limit) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_linked_phases(db, run, limit); });
}

Result<std::vector<StoredEvent>> Reader::events(RunId run) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_events(db, run); });
}

Result<std::vector<LogChunk>> Reader::logs(const LogQuery& query) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_logs(db, query); });
}

Result<std::vector<LogExtent>> Reader::log_extents(RunId run) const {
  return store_->machinery_->readers.with(
      [&](Connection& db) { return sql::read_log_extents(db, run); });
}

}  // namespace corral::store
