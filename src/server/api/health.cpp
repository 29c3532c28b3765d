// GET /runs/{run}/health: the parts of a run's recording and what they saw (docs/health.md).
#include <algorithm>

#include "core/json.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "store/tables/health.h"

namespace corral::server::api {
namespace {

using store::page::HealthChange;
using store::page::HealthPart;

void write_change(JsonWriter& json, const HealthChange& change) {
  json.member("state", codec::kHealthStates.at(static_cast<std::size_t>(change.state)));
  write_optional_text(json, "reason", change.reason);
  json.key("at_ns");
  write_time(json, change.at);
}

void write_part(JsonWriter& json, const HealthPart& part) {
  json.begin_object().member("part", part.part);
  write_optional_text(json, "process", part.process);
  write_change(json, part.latest());
  json.member("problem", part.troubled()).key("changes").begin_array();
  for (const HealthChange& change : part.changes) {
    json.begin_object();
    write_change(json, change);
    json.end_object();
  }
  json.end_array().end_object();
}

Result<std::string> health_json(std::string_view text, const store::Reader& store) {
  const RunId id = TRY(query::select_run(store, text));
  const std::optional<store::Run> run = TRY(store.run(id));
  if (!run) return fail(Code::kNotFound, "no run " + id.hex());
  store::page::RunHealth health;
  const auto read = [&](store::Reading& reading) -> Result<> {
    health = TRY(store::page::run_health(reading, *run));
    return {};
  };
  TRY(store.inspect(read));
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("run", id.hex()).key("parts").begin_array();
  for (const HealthPart& part : health.parts) write_part(json, part);
  json.end_array().key("coverage").begin_array();
  for (const store::page::LaneCoverage& lane : health.coverage) {
    json.begin_object().member("lane", lane.lane).member("phases", lane.phases);
    json.member("share", lane.share).end_object();
  }
  json.end_array().end_object();
  return body;
}

}  // namespace

Response health(const Request& request, Context& context) {
  Result<std::string> body = health_json(request.param("run"), context.reader);
  return body ? json_response(*std::move(body)) : error_response(body.error());
}

}  // namespace corral::server::api
