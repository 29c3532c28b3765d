// Events of a run.
#include "codec/health.h"
#include "core/json.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {

Response events(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  const auto found = context.reader.events(*run);
  if (!found) return error_response(found.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("events").begin_array();
  for (const store::StoredEvent& event : *found) {
    // Health events are served by /health.
    if (event.name == codec::kHealthEvent && event.origin == "corral") continue;
    json.begin_object().key("time_ns");
    write_time(json, event.time);
    json.member("name", event.name).key("attributes");
    write_attributes(json, event.attributes);
    json.member("origin", event.origin).end_object();
  }
  json.end_array().end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
