// Phases of runs: the phases, their statistics by lane and path, and the check of a trace.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "analyze/check_phases.h"
#include "analyze/phase_statistics.h"
#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "server/core/door.h"
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

namespace {

namespace page = store::page;

constexpr std::size_t kMostRuns = 100;
constexpr std::size_t kMostCountedPhases = 1u << 20;  // over all runs: about 200 MiB while counted
constexpr std::size_t kMostPaths = 10'000;            // per run

struct StatisticsRequest {
  std::vector<std::string> runs;
  std::optional<std::int64_t> from, to;
  std::vector<std::int64_t> origins;  // one per run; empty: the window is UTC
};

Parsed<StatisticsRequest> parse_statistics_request(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"runs", "from_ns", "to_ns", "origins_ns"});
  StatisticsRequest question;
  question.runs = fields.texts("runs", kMostRuns, 1000);
  question.from = fields.integer("from_ns", "nanoseconds");
  question.to = fields.integer("to_ns", "nanoseconds");
  if (question.from && question.to && *question.from >= *question.to)
    fields.wrong("to_ns", "later than from_ns");
  if (fields.has("origins_ns"))
    question.origins =
        fields.integers("origins_ns", question.runs.size(), "one for each run, or absent");
  if (fields.error()) return tl::unexpected(*fields.error());
  return question;
}

// Nothing was recorded before 1970: the length of a window never overflows.
UtcTime moment(std::int64_t origin, std::int64_t time) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(origin, time, &sum))
    return time < 0 ? utc_time(0) : utc_time(std::numeric_limits<std::int64_t>::max());
  return utc_time(std::max<std::int64_t>(0, sum));
}

page::PhaseWindow window_of(const StatisticsRequest& question, std::size_t place,
                            const store::Run& run) {
  const std::int64_t origin = question.origins.empty() ? 0 : question.origins[place];
  page::PhaseWindow window{.from = std::max(utc_time(0), run.start),
                           .to = run.end.value_or(run.newest)};
  if (question.from) window.from = moment(origin, *question.from);
  if (question.to) window.to = moment(origin, *question.to);
  window.to = std::max(window.from, window.to);
  return window;
}

void write_path(JsonWriter& json, const analyze::PathStatistics& path, double window_s) {
  json.begin_object().member("lane", path.lane).key("path").begin_array();
  for (const std::string& name : path.path) json.value(name);
  json.end_array().member("count", path.count).member("open", path.open);
  json.member("total_s", seconds(path.total));
  for (const auto& [name, value] :
       {std::pair("mean_s", path.mean_s), std::pair("min_s", path.min_s),
        std::pair("max_s", path.max_s)}) {
    json.key(name);
    write_number(json, path.ended > 0 ? std::optional(value) : std::nullopt);
  }
  json.key("deviation_s");
  write_number(json, path.deviation_s);
  json.key("share");
  write_number(json, window_s > 0 ? std::optional(seconds(path.total) / window_s) : std::nullopt);
  json.end_object();
}

// The phases of one run, at most `room` of which are left; how many there were.
Result<std::size_t> write_statistics(JsonWriter& json, const store::Reader& store,
                                     const store::Run& run, const page::PhaseWindow& window,
                                     std::size_t room) {
  std::vector<page::PhaseSpan> phases;
  TRY(store.inspect([&](store::Reading& reading) -> Result<> {
    auto found = page::phase_spans(reading, run.id, window.to, room + 1);
    if (!found) return tl::unexpected(std::move(found).error());
    phases = *std::move(found);
    return {};
  }));
  if (phases.size() > room) {
    return fail(Code::kTooLarge, fmt::format("these runs have more than {} phases: ask for fewer",
                                             kMostCountedPhases));
  }
  const double window_s = seconds(window.to - window.from);
  const auto paths = analyze::phase_statistics(phases, window);
  const std::size_t given = std::min(paths.size(), kMostPaths);
  json.begin_object().member("run", run.id.hex()).member("window_s", window_s);
  json.key("phases").begin_array();
  for (std::size_t i = 0; i < given; ++i) write_path(json, paths[i], window_s);
  json.end_array().member("left_out", static_cast<std::int64_t>(paths.size() - given));
  json.end_object();
  return phases.size();
}

Result<std::string> statistics_json(const StatisticsRequest& question, const store::Reader& store) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  std::size_t room = kMostCountedPhases;
  for (std::size_t i = 0; i < question.runs.size(); ++i) {
    const RunId id = TRY(query::select_run(store, question.runs[i]));
    const std::optional<store::Run> run = TRY(store.run(id));
    if (!run) return fail(Code::kNotFound, fmt::format("no run {}", id.hex()));
    room -= TRY(write_statistics(json, store, *run, window_of(question, i, *run), room));
  }
  json.end_array().end_object();
  return body;
}

}  // namespace

Response phase_statistics(const Request& request, Context& context) {
  const Parsed<StatisticsRequest> question = parse_statistics_request(request.body);
  if (!question) return bad_body(question.error());
  Result<std::string> body = statistics_json(*question, context.reader);
  return body ? json_response(*std::move(body)) : error_response(body.error());
}

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
