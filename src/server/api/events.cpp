// Events of a run.
#include "codec/health.h"
#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

void write_event(JsonWriter& json, const store::StoredEvent& event) {
  json.begin_object();
  write_time(json, "time_ns", event.time);
  json.member("name", event.name);
  write_attributes(json, "attributes", event.attributes);
  json.member("origin", event.origin).end_object();
}

}  // namespace

Answer events(const Request& request, Context& context) {
  const RunId run = TRY(requested_run(request, context));
  auto all = TRY(context.reader.events(run));
  // Health events are served by /health.
  std::erase_if(all, [](const store::StoredEvent& event) {
    return event.name == codec::kHealthEvent && event.origin == "corral";
  });
  return array_response("events", all, write_event);
}

}  // namespace corral::server::api
