// Workloads of runs that no supervisor records: a client said which runs were launched together.
//
// Free functions over a connection, in the caller's transaction.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::tracking {

// Puts the run into the named workload of its experiment, which is made when it is missing and is
// the one that `corral run --workload NAME` means there. The run's previous workload is removed if
// this was its last run. A run that a supervisor records stays in its workload, because its host's
// series belong to that.
Result<> assign_workload(sql::Connection& db, std::int64_t run, std::string_view name);

}  // namespace corral::store::tracking
