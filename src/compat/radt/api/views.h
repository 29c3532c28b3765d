// The four tables that radT's older web page reads, as PostgREST served them from views on MLflow's
// database: fe_experiments, fe_runs, fe_metrics_available, fe_metrics. Read-only.
//
// Answers are streamed JSON arrays of rows. fe_metrics returns whole histories as stored and
// requires the runs to be named.
#pragma once

#include "server/core/context.h"
#include "server/core/http_types.h"

namespace corral::server::radt {

Response fe_experiments(const Request& request, Context& context);
Response fe_runs(const Request& request, Context& context);
Response fe_metrics_available(const Request& request, Context& context);
Response fe_metrics(const Request& request, Context& context);

}  // namespace corral::server::radt
