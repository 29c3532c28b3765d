// Runs of an MLflow database with all that belongs to them but points: params, tags, datasets,
// models, and radT's workloads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compat/mlflow/import/source.h"
#include "compat/mlflow/import/tables.h"
#include "core/ids.h"
#include "store/maintain/watch.h"
#include "store/reader.h"
#include "store/search/runs.h"
#include "store/store.h"

namespace corral::store::importing {

struct SourceRun {
  std::string text_id;  // the source's
  RunId id;             // the same, where that has 32 hex digits
  std::int64_t experiment = 0;
  std::int64_t points = 0;
  std::string name, user_id, artifact_uri;
  tracking::ClientStatus status = tracking::ClientStatus::kRunning;
  UtcTime start;
  std::optional<UtcTime> end;
  bool deleted = false;
};

// Returns all runs with the number of their points, oldest first.
Result<std::vector<SourceRun>> read_runs(Source& source);

// The number of items that the source has for a run.
struct RunCounts {
  std::int64_t params = 0, tags = 0;
  std::int64_t datasets = 0;  // that it used
  std::int64_t models = 0;    // that it used or made
};
// In the order of the runs; nullopt: the run was removed from the store and is not imported again.
using WrittenRuns = std::vector<std::optional<RunCounts>>;
// In one transaction. An existing run is updated from the source. Artifacts stay where they are
// unless `own_artifacts`: then the run's place is the store's own.
Result<WrittenRuns> write_runs(Source& source, Store& store, const Experiments& experiments,
                               std::span<const SourceRun> runs, bool own_artifacts);

// Counts, run by run, how much of an imported database is in the store: runs, params, tags,
// datasets, models and points. Also checks that no metric's latest value is older in the store.
// `wanted`: of each run. Points are those of `runs`, latest values the source's table of them.
Result<std::vector<Count>> count_runs(Source& source, const Reader& store,
                                      std::span<const SourceRun* const> runs,
                                      std::span<const RunCounts> wanted,
                                      const maintain::Watch& watch);

}  // namespace corral::store::importing
