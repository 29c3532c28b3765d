// The handlers of the native API, one per route of routes.cpp; docs/api.md says what each takes and
// answers.
//
// Plain synchronous functions on the transport's handler pool; they know no socket and no SQL.
// Failures of the system become an error_response; the transport catches exceptions.
#pragma once

#include "server/core/context.h"
#include "server/core/http_types.h"

namespace corral::server::api {

// meta.cpp
// "OK", for probes.
Response alive(const Request& request, Context& context);
Response version(const Request& request, Context& context);
Response openapi_page(const Request& request, Context& context);
Response stop(const Request& request, Context& context);
// stream.cpp
Response stream(const Request& request, Context& context);
// prometheus.cpp
Response prometheus(const Request& request, Context& context);
// frames.cpp
Response post_frames(const Request& request, Context& context);
// session.cpp
Response session(const Request& request, Context& context);
// experiments.cpp
Response experiments(const Request& request, Context& context);
// runs.cpp
Response runs(const Request& request, Context& context);
Response run(const Request& request, Context& context);
// workloads.cpp
Response workloads(const Request& request, Context& context);
// run_search.cpp
Response search_runs(const Request& request, Context& context);
// sparklines.cpp
Response sparklines(const Request& request, Context& context);
// summaries.cpp
Response summaries(const Request& request, Context& context);
// overview.cpp
Response overview(const Request& request, Context& context);
// remove.cpp
Response remove_run(const Request& request, Context& context);
Response remove_experiment(const Request& request, Context& context);
// metrics.cpp
Response metrics(const Request& request, Context& context);
// check_trace.cpp
Response check_trace(const Request& request, Context& context);
// phases.cpp
Response phases(const Request& request, Context& context);
// events.cpp
Response events(const Request& request, Context& context);
// health.cpp
Response health(const Request& request, Context& context);
// phase_statistics.cpp
Response phase_statistics(const Request& request, Context& context);
// logs.cpp
Response logs(const Request& request, Context& context);
// log_search.cpp
Response search_logs(const Request& request, Context& context);
// views.cpp
Response save_view(const Request& request, Context& context);
Response view(const Request& request, Context& context);
// boards.cpp
Response boards(const Request& request, Context& context);
Response save_board(const Request& request, Context& context);
Response delete_board(const Request& request, Context& context);
// plans.cpp
Response plans(const Request& request, Context& context);
Response plan(const Request& request, Context& context);
Response save_plan(const Request& request, Context& context);
Response delete_plan(const Request& request, Context& context);
// sharing.cpp
Response sharing(const Request& request, Context& context);
// profiles.cpp
Response profile(const Request& request, Context& context);
Response ask_profile(const Request& request, Context& context);
Response tell_profile(const Request& request, Context& context);
// notes.cpp
Response notes(const Request& request, Context& context);
Response add_note(const Request& request, Context& context);
Response change_note(const Request& request, Context& context);
Response delete_note(const Request& request, Context& context);
// artifacts.cpp
Response list_artifacts(const Request& request, Context& context);
Response get_artifact(const Request& request, Context& context);
Response put_artifact(const Request& request, Context& context);
// points.cpp
Response points(const Request& request, Context& context);
Response export_points(const Request& request, Context& context);
// charts.cpp
Response charts(const Request& request, Context& context);
// lines.cpp
Response lines(const Request& request, Context& context);
// windows.cpp
Response windows(const Request& request, Context& context);
// latest.cpp
Response latest(const Request& request, Context& context);
// xy.cpp
Response xy(const Request& request, Context& context);
// changes.cpp
Response changes(const Request& request, Context& context);
// epochs.cpp
Response epochs(const Request& request, Context& context);

}  // namespace corral::server::api
