// GET /runs/{run}/health: the parts of a run's recording and what they saw (docs/health.md).
#include "store/tables/health.h"
#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using store::page::HealthChange;
using store::page::HealthPart;

void write_change(JsonWriter& json, const HealthChange& change) {
  json.member("state", codec::kHealthStates.at(static_cast<std::size_t>(change.state)));
  write_text(json, "reason", change.reason);
  write_time(json, "at_ns", change.at);
}

void write_part(JsonWriter& json, const HealthPart& part) {
  json.begin_object().member("part", part.part);
  write_text(json, "process", part.process);
  write_change(json, part.latest());
  json.member("problem", part.troubled());
  write_array(json, "changes", part.changes, [](JsonWriter& out, const HealthChange& change) {
    out.begin_object();
    write_change(out, change);
    out.end_object();
  });
  json.end_object();
}

void write_lane(JsonWriter& json, const store::page::LaneCoverage& lane) {
  json.begin_object().member("lane", lane.lane).member("phases", lane.phases);
  json.member("share", lane.share).end_object();
}

}  // namespace

Answer health(const Request& request, Context& context) {
  const store::Run run = TRY(read_run(context.reader, request.param("run")));
  const auto health = TRY(in_snapshot(context.reader, [&](store::Reading& reading) {
    return store::page::run_health(reading, run);
  }));
  return object_response([&](JsonWriter& json) {
    json.member("run", run.id.hex());
    write_array(json, "parts", health.parts, write_part);
    write_array(json, "coverage", health.coverage, write_lane);
  });
}

}  // namespace corral::server::api
