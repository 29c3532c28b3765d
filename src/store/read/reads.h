// The store's answers, each as plain SQL on one connection inside the caller's read transaction.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/engine/database.h"
#include "store/model/records.h"
#include "store/model/statistics.h"
#include "store/read/view.h"

namespace corral::store::sql {

// The key of a run; 0: unknown.
Result<std::int64_t> run_key(Connection& db, RunId run);
Result<std::optional<Ack>> read_session(Connection& db, SessionId id);
Result<std::vector<Experiment>> read_experiments(Connection& db);
Result<std::vector<Workload>> read_workloads(Connection& db,
                                             std::optional<ExperimentId> experiment);
Result<RunPage> read_runs(Connection& db, const RunFilter& filter);
Result<std::optional<Run>> read_run(Connection& db, RunId id);
// Without facts but the command, in the order of the keys; runs that are not there are left out.
Result<std::vector<Run>> read_listed_runs(Connection& db, std::span<const std::int64_t> keys);
Result<std::vector<RunId>> read_matching_runs(Connection& db, std::string_view text);

Result<std::vector<Series>> read_run_series(Connection& db, Caches& caches, RunId run);
Result<std::vector<Series>> read_series(Connection& db, Caches& caches,
                                        std::span<const SeriesId> ids);
Result<std::vector<std::pair<RunId, Series>>> read_series_ending(Connection& db, Caches& caches,
                                                                 std::span<const RunId> runs,
                                                                 std::string_view suffix);
// The columns that series_from_row() reads, in its order.
inline constexpr std::string_view kSeriesColumns =
    "SELECT id, owner_kind, kind, aggregation, name, source, unit";
Series series_from_row(const Statement& row, std::string owner_id);
void set_statistics(Series& series, const SeriesDelta& statistics);
// The phases in the rows of a query that begins with kPhaseColumns.
inline constexpr std::string_view kPhaseColumns =
    "SELECT session, id, parent, kind, started, ended, name, type, lane, links, attributes ";
Result<std::vector<Phase>> read_phase_rows(Result<Statement> query);
// Series of these owners (keys of runs or of workloads) whose name is one of `names`, those that
// have points.
struct NamedSeries {
  metric::Owner owner = metric::Owner::kRun;
  std::span<const std::int64_t> keys;
  std::span<const std::string> names;  // at most kMostNames
};
inline constexpr std::size_t kMostNames = 16;
struct OwnedSeries {
  std::int64_t owner = 0;  // key
  Series series;           // its owner_id is empty
};
Result<std::vector<OwnedSeries>> read_series_named(Connection& db, Caches& caches,
                                                   const NamedSeries& wanted);
Result<std::vector<Phase>> read_phases(Connection& db, RunId run);
Result<std::vector<Phase>> read_phases_after(Connection& db, RunId run,
                                             const std::optional<PhasePlace>& place,
                                             std::size_t limit);
Result<PhaseCounts> read_phase_counts(Connection& db, RunId run);
Result<std::vector<std::pair<std::int64_t, std::uint64_t>>> read_linked_phases(Connection& db,
                                                                               RunId run,
                                                                               std::size_t limit);
Result<std::vector<StoredEvent>> read_events(Connection& db, RunId run);
// The columns that read_chunks() reads, in its order, and the table.
inline constexpr std::string_view kLogColumns =
    "SELECT id, stream, start, time, bytes FROM logs WHERE run = ";
Result<std::vector<LogChunk>> read_chunks(Result<Statement> query);
Result<std::vector<LogChunk>> read_logs(Connection& db, const LogQuery& query);
Result<std::vector<LogExtent>> read_log_extents(Connection& db, RunId run);

}  // namespace corral::store::sql
