// Phases of runs: the phases, their statistics by lane and path, and the check of a trace.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "analyze/check_phases.h"
#include "analyze/phase_statistics.h"
#include "core/json.h"
#include "core/text.h"
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
  json.begin_object().member("id", phase_id(phase, phase.id));
  write_text(json, "parent", phase.parent != 0 ? phase_id(phase, phase.parent) : "");
  json.member("name", phase.name).member("type", phase.type);
  json.member("kind", phase_kind_name(phase.kind)).member("lane", phase.lane);
  write_time(json, "start_ns", phase.start);
  write_time(json, "end_ns", phase.end);
  write_attributes(json, "attributes", phase.attributes);
  write_array(json, "links", phase.links,
              [&](JsonWriter& out, std::uint64_t link) { out.value(phase_id(phase, link)); });
  json.end_object();
}

constexpr std::int64_t kMostPhases = 1'000'000;
constexpr double kLongestPhase = 1e9;  // seconds

Parsed<store::page::PhaseChoice> read_choice(const Request& request) {
  store::page::PhaseChoice choice;
  const TimeEnds ends = TRY_PARSED(query_times(request));
  choice.window.from = ends.from.value_or(choice.window.from);
  choice.window.to = ends.to.value_or(choice.window.to);
  if (choice.window.from >= choice.window.to)
    return bad_query(request, "to_ns", "later than from_ns");
  if (const auto text = request.query_value("shortest_s")) {
    const auto shortest = parse_double(*text);
    if (!shortest || !(*shortest >= 0 && *shortest <= kLongestPhase))
      return bad_query(request, "shortest_s", "between 0 and 1e9 seconds");
    choice.shortest = Nanos(static_cast<std::int64_t>(*shortest * 1e9));
  }
  if (request.query_value("limit")) {
    choice.limit = static_cast<std::size_t>(
        TRY_PARSED(query_int(request, "limit", {1, kMostPhases, kMostPhases})));
  }
  return choice;
}

}  // namespace

Answer phases(const Request& request, Context& context) {
  const auto choice = TRY_PARSED(read_choice(request));
  const RunId run = TRY(requested_run(request, context));
  const auto found = TRY(in_snapshot(context.reader, [&](store::Reading& reading) {
    return store::page::choose_phases(reading, run, choice);
  }));
  return object_response([&](JsonWriter& json) {
    write_array(json, "phases", found.phases, write_phase);
    json.member("left_out", found.left_out).member("total", found.total);
  });
}

namespace {

namespace page = store::page;

constexpr std::size_t kMostRuns = 100;
constexpr std::size_t kMostCountedPhases = 1u << 20;  // over all runs: about 200 MiB while counted
constexpr std::size_t kMostPaths = 10'000;            // per run

struct StatisticsRequest {
  std::vector<std::string> runs;
  Ends window;
  std::vector<std::int64_t> origins;  // one per run; empty: the window is UTC
};

Parsed<StatisticsRequest> parse_statistics_request(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"runs", "from_ns", "to_ns", "origins_ns"});
  StatisticsRequest question;
  question.runs = fields.texts("runs", kMostRuns, 1000);
  question.window = read_ends(fields, {.from = "from_ns", .to = "to_ns", .unit = "nanoseconds"});
  if (fields.has("origins_ns"))
    question.origins =
        fields.integers("origins_ns", question.runs.size(), "one for each run, or absent");
  return fields.finish(std::move(question));
}

// Nothing was recorded before 1970: the length of a window never overflows.
UtcTime moment(std::int64_t origin, std::int64_t time) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(origin, time, &sum))
    return time < 0 ? utc_time(0) : utc_time(std::numeric_limits<std::int64_t>::max());
  return utc_time(std::max<std::int64_t>(0, sum));
}

page::PhaseWindow find_window(const StatisticsRequest& question, std::size_t place,
                              const store::Run& run) {
  const std::int64_t origin = question.origins.empty() ? 0 : question.origins[place];
  page::PhaseWindow window{.from = std::max(utc_time(0), run.start),
                           .to = run.end.value_or(run.newest)};
  if (question.window.from) window.from = moment(origin, *question.window.from);
  if (question.window.to) window.to = moment(origin, *question.window.to);
  window.to = std::max(window.from, window.to);
  return window;
}

void write_path(JsonWriter& json, const analyze::PathStatistics& path, double window_s) {
  json.begin_object().member("lane", path.lane).key("path").begin_array();
  for (const std::string& name : path.path) json.value(name);
  json.end_array().member("count", path.count).member("open", path.open);
  json.member("total_s", seconds(path.total));
  for (const auto& [name, value] : {std::pair("mean_s", path.mean_s),
                                    std::pair("min_s", path.min_s), std::pair("max_s", path.max_s)})
    write_optional(json, name, path.ended > 0 ? std::optional(value) : std::nullopt);
  write_optional(json, "deviation_s", path.deviation_s);
  write_optional(json, "share",
                 window_s > 0 ? std::optional(seconds(path.total) / window_s) : std::nullopt);
  json.end_object();
}

// The phases of one run, at most `room` of which are left; how many there were.
Result<std::size_t> write_statistics(JsonWriter& json, const store::Reader& store,
                                     const store::Run& run, const page::PhaseWindow& window,
                                     std::size_t room) {
  const auto phases = TRY(in_snapshot(store, [&](store::Reading& reading) {
    return page::phase_spans(reading, run.id, window.to, room + 1);
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

}  // namespace

Answer phase_statistics(const Request& request, Context& context) {
  const StatisticsRequest question = TRY_PARSED(parse_statistics_request(request.body));
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  std::size_t room = kMostCountedPhases;
  for (std::size_t i = 0; i < question.runs.size(); ++i) {
    const store::Run run = TRY(read_run(context.reader, question.runs[i]));
    room -= TRY(write_statistics(json, context.reader, run, find_window(question, i, run), room));
  }
  json.end_array().end_object();
  return json_response(std::move(body));
}

Answer check_trace(const Request& request, Context& context) {
  const RunId run = TRY(requested_run(request, context));
  analyze::PhaseCheck check = TRY(analyze::check_phases(context.reader, run));
  TRY(door::check_uploads(context, run, check.problems));
  return object_response([&](JsonWriter& json) {
    json.member("run", run.hex()).member("phases", check.counts.phases);
    json.member("unended", check.counts.unended).member("ends_alone", check.counts.ends_alone);
    json.member("backwards", check.counts.backwards);
    json.member("unknown_parents", check.counts.unknown_parents);
    json.member("overlaps", check.overlaps);
    write_array(json, "problems", check.problems,
                [](JsonWriter& out, const std::string& problem) { out.value(problem); });
    json.member("ok", check.problems.empty());
  });
}

}  // namespace corral::server::api
