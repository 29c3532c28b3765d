// Tables of `corral ls` for plans, for workloads with the devices that their runs shared, and for
// the sums of a run's phases, made from answers of the server. Pure.
#pragma once

#include <string>

#include "cli/table.h"
#include "core/json.h"

namespace corral::cli {

// From the answers to GET /workloads?members=true and GET /plans.
Table workloads_table(const Json& answer);
Table plans_table(const Json& answer);
// From the answer to POST /phases/statistics for one run: a line for each name, over all lanes and
// parents, the longest total first.
Table phase_summary(const Json& answer);

}  // namespace corral::cli
