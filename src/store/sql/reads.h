// What the store answers, each as plain SQL on one connection inside the caller's read transaction.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "store/sql/database.h"
#include "store/sql/view.h"
#include "store/store.h"

namespace corral::store::sql {

Result<std::optional<Ack>> read_session(Connection& db, SessionId id);
Result<std::vector<Experiment>> read_experiments(Connection& db);
Result<std::vector<Workload>> read_workloads(Connection& db,
                                             std::optional<ExperimentId> experiment);
Result<RunPage> read_runs(Connection& db, const RunFilter& filter);
Result<std::optional<Run>> read_run(Connection& db, RunId id);
Result<std::vector<RunId>> read_matching_runs(Connection& db, std::string_view text);

Result<std::vector<Series>> read_series_of(Connection& db, Caches& caches, RunId run);
Result<std::vector<Series>> read_series(Connection& db, Caches& caches,
                                        std::span<const SeriesId> ids);
Result<std::vector<std::pair<RunId, Series>>> read_series_ending(Connection& db, Caches& caches,
                                                                 std::span<const RunId> runs,
                                                                 std::string_view suffix);
Result<std::vector<Phase>> read_phases(Connection& db, RunId run);
Result<std::vector<StoredEvent>> read_events(Connection& db, RunId run);
Result<std::vector<LogChunk>> read_logs(Connection& db, const LogQuery& query);
Result<std::vector<LogExtent>> read_log_extents(Connection& db, RunId run);

}  // namespace corral::store::sql
