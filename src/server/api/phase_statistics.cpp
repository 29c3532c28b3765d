// Counts and durations of the phases of runs, by lane and path of names.
#include "analyze/phase_statistics.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "core/json.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "store/tables/phases.h"

namespace corral::server::api {
namespace {

namespace page = store::page;

constexpr std::size_t kMostRuns = 100;
constexpr std::size_t kMostPhases = 1u << 20;  // over all runs: about 200 MiB while counted
constexpr std::size_t kMostPaths = 10'000;     // per run

struct Question {
  std::vector<std::string> runs;
  std::optional<std::int64_t> from, to;
  std::vector<std::int64_t> origins;  // one per run; empty: the window is UTC
};

Parsed<Question> parse_question(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"runs", "from_ns", "to_ns", "origins_ns"});
  Question question;
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

page::PhaseWindow window_of(const Question& question, std::size_t place, const store::Run& run) {
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
Result<std::size_t> write_run(JsonWriter& json, const store::Reader& store, const store::Run& run,
                              const page::PhaseWindow& window, std::size_t room) {
  std::vector<page::PhaseSpan> phases;
  TRY(store.inspect([&](store::Reading& reading) -> Result<> {
    auto found = page::phase_spans(reading, run.id, window.to, room + 1);
    if (!found) return tl::unexpected(std::move(found).error());
    phases = *std::move(found);
    return {};
  }));
  if (phases.size() > room) {
    return fail(Code::kTooLarge,
                fmt::format("these runs have more than {} phases: ask for fewer", kMostPhases));
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

Result<std::string> answer_to(const Question& question, const store::Reader& store) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  std::size_t room = kMostPhases;
  for (std::size_t i = 0; i < question.runs.size(); ++i) {
    const RunId id = TRY(query::select_run(store, question.runs[i]));
    const std::optional<store::Run> run = TRY(store.run(id));
    if (!run) return fail(Code::kNotFound, fmt::format("no run {}", id.hex()));
    room -= TRY(write_run(json, store, *run, window_of(question, i, *run), room));
  }
  json.end_array().end_object();
  return body;
}

}  // namespace

Response phase_statistics(const Request& request, Context& context) {
  const Parsed<Question> question = parse_question(request.body);
  if (!question) return bad_body(question.error());
  Result<std::string> body = answer_to(*question, context.reader);
  return body ? json_response(*std::move(body)) : error_response(body.error());
}

}  // namespace corral::server::api
