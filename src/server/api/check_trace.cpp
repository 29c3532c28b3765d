// Checks that a run's phases are whole, and radT's upload of them.
#include "analyze/check_phases.h"
#include "core/json.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/core/door.h"

namespace corral::server::api {

Response check_trace(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  auto check = analyze::check_phases(context.reader, *run);
  if (!check) return error_response(check.error());
  if (const auto done = door::check_uploads(context, *run, check->problems); !done)
    return error_response(done.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("run", run->hex()).member("phases", check->counts.phases);
  json.member("unended", check->counts.unended).member("ends_alone", check->counts.ends_alone);
  json.member("backwards", check->counts.backwards);
  json.member("unknown_parents", check->counts.unknown_parents);
  json.member("overlaps", check->overlaps).key("problems").begin_array();
  for (const std::string& problem : check->problems) json.value(problem);
  json.end_array().member("ok", check->problems.empty()).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
