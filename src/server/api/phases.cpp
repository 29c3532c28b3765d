// Phases of a run.
#include <fmt/core.h>

#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "store/tables/phases.h"

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

constexpr std::int64_t kMostPhases = 1'000'000;
constexpr double kLongestPhase = 1e9;  // seconds

tl::expected<store::page::PhaseChoice, Response> read_choice(const Request& request) {
  store::page::PhaseChoice choice;
  const auto wrong = [&](std::string_view name, std::string_view expected) {
    return tl::unexpected<Response>(
        bad_query(name, expected, request.query_value(name).value_or("")));
  };
  for (const auto& [name, time] :
       {std::pair("from_ns", &choice.window.from), std::pair("to_ns", &choice.window.to)}) {
    const auto text = request.query_value(name);
    if (!text) continue;
    const auto value = parse_int(*text);
    if (!value) return wrong(name, "nanoseconds of UTC");
    *time = utc_time(*value);
  }
  if (choice.window.from >= choice.window.to) return wrong("to_ns", "later than from_ns");
  if (const auto text = request.query_value("shortest_s")) {
    const auto shortest = parse_double(*text);
    if (!shortest || !(*shortest >= 0 && *shortest <= kLongestPhase))
      return wrong("shortest_s", "between 0 and 1e9 seconds");
    choice.shortest = Nanos(static_cast<std::int64_t>(*shortest * 1e9));
  }
  if (request.query_value("limit")) {
    const auto limit = query_int(request, "limit", {1, kMostPhases, kMostPhases});
    if (!limit) return wrong("limit", "between 1 and 1000000");
    choice.limit = static_cast<std::size_t>(*limit);
  }
  return choice;
}

}  // namespace

Response phases(const Request& request, Context& context) {
  const auto choice = read_choice(request);
  if (!choice) return choice.error();
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  store::page::ChosenPhases found;
  const auto done = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    found = TRY(store::page::choose_phases(reading, *run, *choice));
    return {};
  });
  if (!done) return error_response(done.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("phases").begin_array();
  for (const store::Phase& phase : found.phases) write_phase(json, phase);
  json.end_array().member("left_out", found.left_out).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
