// The handlers of the native API, one per route of routes.cpp; docs/api.md says what each takes and
// answers.
//
// Plain synchronous functions on the transport's handler pool; they know no socket and no SQL. What
// the world breaks becomes an error_response; exceptions are caught by the transport.
#pragma once

#include "server/context.h"
#include "server/http/request.h"
#include "server/http/response.h"

namespace corral::server::api {

// meta.cpp
Response health(const Request& request, Context& context);
Response version(const Request& request, Context& context);
Response openapi_page(const Request& request, Context& context);
Response stop(const Request& request, Context& context);
Response stream(const Request& request, Context& context);
// frames.cpp
Response post_frames(const Request& request, Context& context);
Response session(const Request& request, Context& context);
// runs.cpp
Response experiments(const Request& request, Context& context);
Response workloads(const Request& request, Context& context);
Response runs(const Request& request, Context& context);
Response run(const Request& request, Context& context);
// remove.cpp
Response remove_run(const Request& request, Context& context);
Response remove_experiment(const Request& request, Context& context);
// series.cpp
Response metrics(const Request& request, Context& context);
// timeline.cpp
Response phases(const Request& request, Context& context);
Response events(const Request& request, Context& context);
// logs.cpp
Response logs(const Request& request, Context& context);
// points.cpp
Response points(const Request& request, Context& context);
Response export_points(const Request& request, Context& context);
Response charts(const Request& request, Context& context);
// reductions.cpp
Response lines(const Request& request, Context& context);
Response windows(const Request& request, Context& context);
Response latest(const Request& request, Context& context);

}  // namespace corral::server::api
