// Counts, run by run, how much of an imported database is in the store: runs, params, tags,
// datasets, models and points. Also checks that no metric's latest value is older in the store.
#pragma once

#include <span>
#include <vector>

#include "compat/mlflow/import/count.h"
#include "compat/mlflow/import/runs.h"
#include "compat/mlflow/import/source.h"
#include "core/result.h"
#include "store/maintain/watch.h"
#include "store/reader.h"

namespace corral::store::importing {

// `wanted`: of each run. Points are those of `runs`, latest values the source's table of them.
Result<std::vector<Count>> count_runs(Source& source, const Reader& store,
                                      std::span<const SourceRun* const> runs,
                                      std::span<const RunCounts> wanted,
                                      const maintain::Watch& watch);

}  // namespace corral::store::importing
