// Phases and events of a run.
#include <fmt/core.h>

#include "core/json.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

// Phase ids are unique within a session; those of a run's several processes must not meet.
std::string phase_id(const store::Phase& phase, std::uint64_t id) {
  return fmt::format("{}.{}", phase.session, id);
}

void write_phase(JsonWriter& json, const store::Phase& phase) {
  json.begin_object().member("id", phase_id(phase, phase.id)).key("parent");
  if (phase.parent != 0) {
    json.value(phase_id(phase, phase.parent));
  } else {
    json.null();
  }
  json.member("name", phase.name).member("type", phase.type);
  json.member("kind", phase_kind_name(phase.kind)).member("lane", phase.lane);
  json.key("start_ns");
  write_time(json, phase.start);
  json.key("end_ns");
  write_time(json, phase.end);
  json.key("attributes");
  write_attributes(json, phase.attributes);
  json.key("links").begin_array();
  for (const std::uint64_t link : phase.links) json.value(phase_id(phase, link));
  json.end_array().end_object();
}

}  // namespace

Response phases(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.store, request.param("run"));
  if (!run) return error_response(run.error());
  const auto found = context.store.phases(*run);
  if (!found) return error_response(found.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("phases").begin_array();
  for (const store::Phase& phase : *found) write_phase(json, phase);
  json.end_array().end_object();
  return json_response(std::move(body));
}

Response events(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.store, request.param("run"));
  if (!run) return error_response(run.error());
  const auto found = context.store.events(*run);
  if (!found) return error_response(found.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("events").begin_array();
  for (const store::StoredEvent& event : *found) {
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
