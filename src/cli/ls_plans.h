// What `corral ls` says of plans, of workloads with who shared what in them, and of a run's phases
// in sum: answers of the server as tables. Pure.
#pragma once

#include <string>

#include "cli/table.h"
#include "core/json.h"

namespace corral::cli {

// Of GET /workloads?members=true and GET /plans.
Table workloads_table(const Json& answer);
Table plans_table(const Json& answer);
// Of POST /phases/statistics for one run: a line for each name, whatever its lanes and parents, the
// longest total first.
Table phase_summary(const Json& answer);
// How a run ended, where something says more than its status; while it runs, its status.
std::string outcome_of(const Json& run);

}  // namespace corral::cli
