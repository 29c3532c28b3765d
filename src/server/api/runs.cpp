// Runs.
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "query/summary.h"
#include "server/api/handlers.h"
#include "server/api/run_json.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

constexpr std::int64_t kMaxRunsPerPage = 1000;
constexpr std::size_t kMaxNeighbours = 1000;

std::string cursor_of(const store::Run& run) {
  return fmt::format("{}-{}", ns_of(run.start), run.id.hex());
}

std::optional<std::pair<UtcTime, RunId>> parse_cursor(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> time = parse_int(text.substr(0, dash));
  const Result<RunId> id = RunId::parse(text.substr(dash + 1));
  if (!time || !id) return std::nullopt;
  return std::pair(utc_time(*time), *id);
}

std::optional<store::RunStatus> parse_status(std::string_view name) {
  for (int s = 0; s <= static_cast<int>(store::RunStatus::kUnknown); ++s) {
    const auto status = static_cast<store::RunStatus>(s);
    if (store::status_name(status) == name) return status;
  }
  return std::nullopt;
}

void write_texts(JsonWriter& json, std::string_view name, const codec::Attributes& facts) {
  json.key(name).begin_object();
  for (const auto& [key, value] : facts) json.member(key, value);
  json.end_object();
}

void write_facts(JsonWriter& json, const store::Run& run) {
  write_texts(json, "params", run.params);
  write_texts(json, "tags", run.tags);
  json.key("info");
  write_attributes(json, run.info);
  json.key("end_reason");
  if (run.end_reason) {
    json.value(end_reason_name(*run.end_reason));
  } else {
    json.null();
  }
  json.key("unavailable").begin_array();
  for (const auto& [source, reason] : run.unavailable) {
    json.begin_object().member("source", source).member("reason", reason).end_object();
  }
  json.end_array().key("drops").begin_object();
  for (const std::string_view key : {"points", "frames", "ticks"}) {
    const std::string* total = find_fact(run.drops, key);
    json.member(key, total != nullptr ? parse_int(*total).value_or(0) : std::int64_t{0});
  }
  json.end_object();
}

Result<> write_neighbours(JsonWriter& json, const store::Run& run, const store::Reader& store) {
  store::RunFilter filter;
  filter.workload = run.workload;
  filter.limit = kMaxNeighbours;
  const store::RunPage page = TRY(store.runs(filter));
  UtcTime start = run.start;
  json.key("neighbours").begin_array();
  for (const store::Run& other : page.runs) {
    start = std::min(start, other.start);
    if (other.id == run.id) continue;
    json.begin_object().member("id", other.id.hex()).member("name", other.name).end_object();
  }
  json.end_array().key("workload_start_ns");
  write_time(json, start);
  return {};
}

// The filter of the query string, or the 400 that names its error.
tl::expected<store::RunFilter, Response> parse_filter(const Request& request) {
  store::RunFilter filter;
  filter.facts = true;  // a list shows commands
  const auto wrong = [&](std::string_view name, std::string_view expected) {
    return tl::unexpected<Response>(
        bad_query(name, expected, request.query_value(name).value_or("")));
  };
  if (const auto text = request.query_value("experiment"); text && !text->empty()) {
    const auto id = parse_int(*text);
    if (!id) return wrong("experiment", "an experiment's id");
    filter.experiment = ExperimentId{*id};
  }
  if (const auto text = request.query_value("workload"); text && !text->empty()) {
    const auto id = WorkloadId::parse(*text);
    if (!id) return wrong("workload", "a workload's id of 32 hex digits");
    filter.workload = *id;
  }
  if (const auto text = request.query_value("status"); text && !text->empty()) {
    filter.status = parse_status(*text);
    if (!filter.status) return wrong("status", "running, finished, failed, stopped or unknown");
  }
  if (const auto text = request.query_value("before"); text && !text->empty()) {
    filter.before = parse_cursor(*text);
    if (!filter.before) return wrong("before", "the 'next' of an earlier answer");
  }
  const auto limit = query_int(request, "limit", {1, kMaxRunsPerPage, 100});
  if (!limit) return wrong("limit", "between 1 and 1000");
  filter.limit = static_cast<std::size_t>(*limit);
  return filter;
}

Result<std::string> runs_json(store::RunFilter filter, const store::Reader& store) {
  filter.limit += 1;  // tells whether there is a next page
  store::RunPage page = TRY(store.runs(filter));
  const bool more = page.runs.size() == filter.limit;
  if (more) page.runs.pop_back();
  std::vector<RunId> ids;
  for (const store::Run& run : page.runs) ids.push_back(run.id);
  const std::unordered_map<RunId, query::Loss> losses = TRY(query::losses_of(store, ids));
  const auto problems = TRY(health_problems(store, ids));
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto loss = losses.find(ids[i]);
    json.begin_object();
    write_run(json, page.runs[i], loss != losses.end() ? &loss->second : nullptr);
    json.member("health_problems", problems[i]).end_object();
  }
  json.end_array();
  write_optional_text(json, "next", more ? cursor_of(page.runs.back()) : "");
  json.member("total", page.total).end_object();
  return body;
}

Result<std::string> run_json(std::string_view text, const store::Reader& store) {
  const RunId id = TRY(query::select_run(store, text));
  const std::optional<store::Run> run = TRY(store.run(id));
  if (!run) return fail(Code::kNotFound, fmt::format("no run {}", id.hex()));
  const std::unordered_map<RunId, query::Loss> losses =
      TRY(query::losses_of(store, std::span(&id, 1)));
  const auto loss = losses.find(id);
  const auto problems = TRY(health_problems(store, std::span(&id, 1)));
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  write_run(json, *run, loss != losses.end() ? &loss->second : nullptr);
  json.member("health_problems", problems.front());
  write_facts(json, *run);
  TRY(write_neighbours(json, *run, store));
  json.end_object();
  return body;
}

}  // namespace

Response runs(const Request& request, Context& context) {
  const auto filter = parse_filter(request);
  if (!filter) return filter.error();
  Result<std::string> body = runs_json(*filter, context.reader);
  return body ? json_response(*std::move(body)) : error_response(body.error());
}

Response run(const Request& request, Context& context) {
  Result<std::string> body = run_json(request.param("run"), context.reader);
  return body ? json_response(*std::move(body)) : error_response(body.error());
}

}  // namespace corral::server::api
