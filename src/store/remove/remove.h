// Removal of runs: at once for every reader, and piece by piece in the tables.
//
// mark_removed() deletes a run's row, and the rows of its workload and experiment if they have
// become empty, in the caller's transaction. Its sessions stay as tombstones, so that frames that
// come later are acknowledged and ignored; removed_runs remembers its id, so that a new session of
// it becomes a tombstone, too. The other rows of the run are orphaned from then on. The table
// `removals` lists their owners, and clean_removed() deletes them in small transactions until none
// is left; any server may call it. After a crash, the cleaning continues from the point that it had
// reached. If a session also measured for a workload that still has runs, its rows stay until that
// workload is removed, and its slices with series of a host stay, too. Series and row ids are never
// reused, so caches may keep deleted rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "store/engine/database.h"
#include "store/model/records.h"

namespace corral::store::sql {

// The treatment of a run that is running.
enum class IfRunning : std::uint8_t { kRefuse, kSkip, kRemove };

// False: there is no such run, or it is skipped. kConflict: it is refused; or another process's
// writes came between (the caller rolls back and may try again). With `trashed_before`, a run that
// is not in the trash since before then (it may have been restored) is skipped, or kNotFound.
Result<bool> mark_removed(Connection& db, RunId id, IfRunning running,
                          std::optional<UtcTime> trashed_before = {});
// Removes an experiment without runs and workloads, unless a client made it explicitly.
Result<> drop_empty_experiment(Connection& db, ExperimentId id);
// Removes an empty experiment even if a client made it explicitly. Experiment 0 always stays.
Result<> drop_experiment(Connection& db, ExperimentId id);

// "mlflow-artifacts:/<id>": the place of an experiment's artifacts by default.
std::string default_artifact_location(ExperimentId id);

// True if clean_removed() has something to do.
Result<bool> anything_to_clean(Connection& db);
// Marks hosts that no run has referred to for 30 days. Deletes rows of removed owners, in the
// caller's transaction, until `until` or until none is left. True: some are left.
Result<bool> clean_removed(Connection& db, BootTime until);
// The longest such transaction: less than what an acknowledgement may wait.
inline constexpr Nanos kRemovalSlice = std::chrono::milliseconds(30);

// Measures what removing these runs would delete, in the caller's snapshot. kConflict: one of them
// is running, and refused.
Result<Removal> size_of_removal(Connection& db, std::span<const RunId> runs, IfRunning running);
// The refusal of both.
tl::unexpected<Error> still_running(const std::string& name, RunId id);
// kNotFound: there is no such experiment.
Result<std::vector<RunId>> runs_to_remove(Connection& db, ExperimentId id);
// The runs that no longer fit, the oldest first. Runs without a known end that sent something
// within kStillSends are not among them. Removed runs take no space, even before their rows are
// deleted.
inline constexpr Nanos kStillSends = std::chrono::minutes(10);
Result<std::vector<RunId>> runs_beyond_retention(Connection& db, const Retention& retention,
                                                 UtcTime now);

// True if the trash has runs, or experiments that were deleted.
Result<bool> anything_in_trash(Connection& db);
// A run in the trash without a time is from before schema 8 or from an import: this notes `now`.
Result<> date_trash(Connection& db, UtcTime now);
// The runs that moved to the trash longer than kTrashKept ago, the first of them first.
Result<std::vector<RunId>> runs_beyond_trash(Connection& db, UtcTime now);
// Removes the experiments that were deleted so long ago, once they have no run.
Result<> drop_deleted_experiments(Connection& db, UtcTime now);

}  // namespace corral::store::sql
