// Runs: one, pages of them, and the search behind the page's list.
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "core/text.h"
#include "query/loss.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"
#include "store/tables/health.h"
#include "store/tables/members.h"
#include "store/tables/phases.h"

namespace corral::server::api {
namespace {

void write_loss(JsonWriter& json, const query::Loss* loss) {
  json.key("loss");
  if (loss == nullptr) {
    json.null();
    return;
  }
  json.begin_object().member("metric", loss->metric).member("value", loss->value);
  write_optional(json, "step", loss->step);
  json.end_object();
}

// A value of `facts`; null: there is none.
const std::string* find_fact(const codec::Attributes& facts, std::string_view key) {
  const auto found =
      std::ranges::find_if(facts, [&](const auto& fact) { return fact.first == key; });
  return found != facts.end() ? &found->second : nullptr;
}

// The members that a run has in lists and alone, within an object. `loss` may be null.
void write_run(JsonWriter& json, const store::Run& run, const query::Loss* loss) {
  json.member("id", run.id.hex()).member("name", run.name);
  json.member("experiment_id", std::to_string(run.experiment.value))
      .member("experiment", run.experiment_name);
  json.member("workload_id", run.workload.hex());
  write_text(json, "workload", run.workload_name);
  json.member("status", store::status_name(run.status));
  const std::string* outcome = find_fact(run.tags, "corral.outcome");
  write_text(json, "outcome", outcome != nullptr ? *outcome : "");
  write_time(json, "start_ns", run.start);
  write_time(json, "end_ns", run.end);
  std::optional<double> duration;
  if (run.end_reason != codec::EndReason::kNotStarted)
    duration = corral::mlflow::run_seconds(ns_of(run.start), ns_of(run.end.value_or(run.newest)));
  write_optional(json, "duration_s", duration);
  write_optional(json, "exit_code", run.exit_code);
  write_optional(json, "exit_signal", run.exit_signal);
  json.member("host", run.host);
  write_text(json, "creator", run.creator);
  json.member("state", store::lifecycle_name(run.lifecycle));
  write_time(json, "trashed_ns", run.trashed);
  const std::string* command = find_fact(run.info, "command");
  write_json_text(json, "command", command != nullptr ? *command : "null");
  write_loss(json, loss);
}

// The number of parts of each run's capture, listeners and sources that have a problem
// (docs/health.md).
Result<std::vector<std::int64_t>> health_problems(const store::Reader& store,
                                                  std::span<const RunId> runs) {
  return in_snapshot(store, [&](store::Reading& reading) -> Result<std::vector<std::int64_t>> {
    std::vector<std::int64_t> problems;
    for (const RunId run : runs) {
      const auto parts = TRY(store::page::health_parts(reading, run));
      problems.push_back(std::ranges::count_if(parts, &store::page::HealthPart::troubled));
    }
    return problems;
  });
}

// ---- the search's body
using store::tracking::parse_run_field;
using store::tracking::RunField;

constexpr std::size_t kMostScopedRuns = 10'000;
constexpr std::size_t kTextBytes = 1000;
constexpr std::size_t kFieldBytes = 1000;  // a name with its prefix and suffix
constexpr std::size_t kValueBytes = 16'384;
constexpr std::size_t kMostValues = 1000;  // per choice
constexpr std::size_t kMostOrders = 10;
constexpr std::size_t kMostColumns = 100;
constexpr std::size_t kMostFacets = 20;
constexpr std::int64_t kMostRuns = 1000, kUsualRuns = 200;  // per page
constexpr std::int64_t kMostOffset = 100'000'000;

constexpr std::string_view kFieldNames =
    "start, duration, name, status, experiment, workload, host, creator, collocation, model, "
    "device, metrics.NAME, params.KEY or tags.KEY";

void read_scope(RequestFields& fields, store::tracking::RunScope& scope) {
  scope.experiments = fields.experiment_ids();
  scope.workloads = fields.parse_all<WorkloadId>(
      "workloads", fields.optional_texts("workloads", kMostScopes, kIdBytes),
      "ids of 32 hex digits", &WorkloadId::parse);
  scope.runs = fields.run_ids(kMostScopedRuns);
  scope.lifecycle = read_lifecycle(fields).value_or(store::Lifecycle::kActive);
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  for (std::size_t at = text.find_first_not_of(kSpace); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpace, end);
  }
  return words;
}

bool is_choice(const RunField& field) {
  return field.is_text() && field.kind != RunField::Kind::kName;
}

void read_choices(RequestFields& fields, store::tracking::RunQuestion& question) {
  const Json* where = fields.object("where");
  if (where == nullptr) return;
  const Json::Object& members = *where->as_object();
  if (members.size() > store::tracking::kMostChoices)
    return fields.wrong(
        "where", fmt::format("an object of at most {} members", store::tracking::kMostChoices));
  fields.nested("where", [&](RequestFields& inner) {
    for (const auto& [name, values] : members) {
      const auto field = name.size() <= kFieldBytes ? parse_run_field(name) : std::nullopt;
      if (!field || !is_choice(*field)) {
        return inner.wrong(name,
                           "one of status, experiment, workload, host, creator, collocation, "
                           "model, device, params.KEY or tags.KEY");
      }
      auto texts = inner.optional_texts(name, kMostValues, kValueBytes);
      if (!texts.empty()) question.choices.push_back({*field, std::move(texts)});
    }
  });
}

void read_orders(RequestFields& fields, const Json& json, store::tracking::RunQuestion& question) {
  const Json* orders = json.find("order");
  const bool none =
      orders != nullptr && orders->as_array() != nullptr && orders->as_array()->empty();
  if (!fields.has("order") || none) return;
  fields.each("order", kMostOrders, [&](RequestFields& one) {
    one.only({"by", "descending"});
    const auto field = parse_run_field(one.text("by", kFieldBytes));
    const bool descending = one.boolean("descending").value_or(false);
    if (!field) one.wrong("by", fmt::format("one of {}", kFieldNames));
    if (field) question.orders.push_back({*field, descending});
  });
}

void read_group(RequestFields& fields, store::tracking::RunQuestion& question) {
  if (!fields.has("group")) return;
  question.group = parse_run_field(fields.text("group", kFieldBytes));
  if (!question.group || !is_choice(*question.group)) {
    fields.wrong("group",
                 "one of status, experiment, workload, host, creator, collocation, model, device, "
                 "params.KEY or tags.KEY");
  }
}

void read_facets(RequestFields& fields, RunSearchRequest& request) {
  auto names = fields.optional_texts("facets", kMostFacets, kFieldBytes);
  request.question.param_facets = std::erase(names, "params") > 0;
  request.question.tag_facets = std::erase(names, "tags") > 0;
  request.question.facets = fields.parse_all<RunField>(
      "facets", names,
      "of status, experiment, workload, host, creator, collocation, model, device, params, tags, "
      "params.KEY or tags.KEY",
      [](const std::string& text) {
        const auto field = parse_run_field(text);
        return field && is_choice(*field) ? field : std::nullopt;
      });
  request.facets = std::move(names);
}

std::int64_t read_integer(RequestFields& fields, std::string_view name, std::int64_t fallback,
                          std::int64_t most) {
  const std::string expected = fmt::format("an integer between 0 and {}", most);
  const std::int64_t value = fields.integer(name, expected).value_or(fallback);
  if (value >= 0 && value <= most) return value;
  fields.wrong(name, expected);
  return fallback;
}

}  // namespace

std::string read_run_filter(RequestFields& fields, std::string_view body,
                            std::vector<mlflow::Comparison>& filter) {
  std::string text = fields.text("filter", kMostFilterBytes);
  if (text.find('\0') != std::string::npos) {
    fields.wrong("filter", "a text without NUL");
    return text;
  }
  auto parsed = corral::mlflow::parse_filter(corral::mlflow::SearchKind::kRuns, text);
  if (parsed) {
    filter = *std::move(parsed);
    return text;
  }
  const std::size_t at = body.find("\"filter\"");
  fields.wrong({{Code::kInvalidArgument, parsed.error().message},
                "filter",
                at == std::string_view::npos ? std::nullopt : std::optional(at)});
  return text;
}

Parsed<RunSearchRequest> parse_run_search(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"experiments", "workloads", "runs", "state", "filter", "text", "where", "order",
               "group", "columns", "details", "facets", "limit", "offset"});
  RunSearchRequest request;
  store::tracking::RunQuestion& question = request.question;
  read_scope(fields, question.scope);
  read_run_filter(fields, text, question.filter);
  question.words = split_words(fields.text("text", kTextBytes));
  read_choices(fields, question);
  read_orders(fields, json, question);
  read_group(fields, question);
  request.columns = fields.optional_texts("columns", kMostColumns, kFieldBytes);
  question.columns = fields.parse_all<RunField>(
      "columns", request.columns, fmt::format("of {}", kFieldNames), &parse_run_field);
  question.details = fields.boolean("details").value_or(false);
  read_facets(fields, request);
  question.paging.limit = read_integer(fields, "limit", kUsualRuns, kMostRuns);
  question.paging.offset = read_integer(fields, "offset", 0, kMostOffset);
  return fields.finish(std::move(request));
}

namespace {

constexpr std::int64_t kMaxRunsPerPage = 1000;
constexpr std::size_t kMaxNeighbours = 1000;

std::string page_cursor(const store::Run& run) {
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

std::optional<store::Lifecycle> parse_lifecycle(std::string_view name) {
  for (const auto lifecycle :
       {store::Lifecycle::kArchived, store::Lifecycle::kActive, store::Lifecycle::kDeleted}) {
    if (store::lifecycle_name(lifecycle) == name) return lifecycle;
  }
  return std::nullopt;
}

std::string_view end_reason_name(codec::EndReason reason) {
  switch (reason) {
    case codec::EndReason::kExit:
      return "exit";
    case codec::EndReason::kSignal:
      return "signal";
    case codec::EndReason::kMaxTime:
      return "max_time";
    case codec::EndReason::kInterrupt:
      return "interrupt";
    case codec::EndReason::kUnknown:
      return "unknown";
    case codec::EndReason::kNotStarted:
      return "not_started";
  }
  return "unknown";
}

void write_texts(JsonWriter& json, std::string_view name, const codec::Attributes& facts) {
  json.key(name).begin_object();
  for (const auto& [key, value] : facts) json.member(key, value);
  json.end_object();
}

void write_facts(JsonWriter& json, const store::Run& run) {
  write_texts(json, "params", run.params);
  write_texts(json, "tags", run.tags);
  write_attributes(json, "info", run.info);
  write_text(json, "end_reason", run.end_reason ? end_reason_name(*run.end_reason) : "");
  write_array(json, "unavailable", run.unavailable, [](JsonWriter& out, const auto& one) {
    out.begin_object().member("source", one.first).member("reason", one.second).end_object();
  });
  json.key("drops").begin_object();
  for (const std::string_view key : {"points", "frames", "ticks"}) {
    // "points", or "points 3" of the run's member 3.
    std::int64_t total = 0;
    for (const auto& [name, value] : run.drops)
      if (std::string_view(name).substr(0, name.find(' ')) == key)
        total += parse_int(value).value_or(0);
    json.member(key, total);
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
  json.end_array();
  write_time(json, "workload_start_ns", start);
  return {};
}

Parsed<store::RunFilter> read_run_filter(const Request& request) {
  store::RunFilter filter;
  filter.facts = true;  // a list shows commands
  const auto given = [&](std::string_view name) { return request.query_value(name).value_or(""); };
  if (const auto text = given("experiment"); !text.empty()) {
    const auto id = parse_int(text);
    if (!id) return bad_query(request, "experiment", "an experiment's id");
    filter.experiment = ExperimentId{*id};
  }
  if (const auto text = given("workload"); !text.empty()) {
    const auto id = WorkloadId::parse(text);
    if (!id) return bad_query(request, "workload", "a workload's id of 32 hex digits");
    filter.workload = *id;
  }
  if (const auto text = given("status"); !text.empty()) {
    filter.status = parse_status(text);
    if (!filter.status)
      return bad_query(request, "status", "running, finished, failed, stopped or unknown");
  }
  if (const auto text = given("state"); !text.empty()) {
    const auto lifecycle = parse_lifecycle(text);
    if (!lifecycle) return bad_query(request, "state", "active, archived or trashed");
    filter.lifecycle = *lifecycle;
  }
  if (const auto text = given("before"); !text.empty()) {
    filter.before = parse_cursor(text);
    if (!filter.before) return bad_query(request, "before", "the 'next' of an earlier answer");
  }
  filter.limit =
      static_cast<std::size_t>(TRY_PARSED(query_int(request, "limit", {1, kMaxRunsPerPage, 100})));
  return filter;
}

// Writes runs as lists have them; `more(i)` adds members of the i-th.
template <class More>
Result<> write_runs(JsonWriter& json, const store::Reader& store,
                    const std::vector<store::Run>& runs, More more) {
  std::vector<RunId> ids;
  ids.reserve(runs.size());
  for (const store::Run& run : runs) ids.push_back(run.id);
  const auto losses = TRY(query::read_losses(store, ids));
  const auto problems = TRY(health_problems(store, ids));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto loss = losses.find(ids[i]);
    json.begin_object();
    write_run(json, runs[i], loss != losses.end() ? &loss->second : nullptr);
    json.member("health_problems", problems[i]);
    TRY(more(i));
    json.end_object();
  }
  return {};
}

}  // namespace

Answer runs(const Request& request, Context& context) {
  store::RunFilter filter = TRY_PARSED(read_run_filter(request));
  filter.limit += 1;  // tells whether there is a next page
  store::RunPage page = TRY(context.reader.runs(filter));
  const bool more = page.runs.size() == filter.limit;
  if (more) page.runs.pop_back();
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  TRY(write_runs(json, context.reader, page.runs, [](std::size_t) { return Result<>(); }));
  json.end_array();
  write_text(json, "next", more ? page_cursor(page.runs.back()) : "");
  json.member("total", page.total).end_object();
  return json_response(std::move(body));
}

namespace {

void write_member(JsonWriter& json, const store::page::RunMember& member) {
  json.begin_object();
  json.member("member", member.no).member("attempt", member.attempt);
  write_optional(json, "rank", member.rank);
  json.member("host", member.host);
  json.member("status", store::status_name(member.status));
  write_text(json, "outcome", member.outcome);
  write_text(json, "reason", member.reason);
  write_time(json, "start_ns", member.start);
  write_time(json, "end_ns", member.end);
  write_optional(json, "exit_code", member.exit_code);
  write_optional(json, "exit_signal", member.exit_signal);
  json.end_object();
}

}  // namespace

Answer run(const Request& request, Context& context) {
  const store::Run run = TRY(read_run(context.reader, request.param("run")));
  const store::page::PhaseWindow life{.from = run.start, .to = run.end.value_or(UtcTime::max())};
  bool has_phases = false;
  auto read = in_snapshot(context.reader, [&](store::Reading& reading) {
    return store::page::has_phases(reading, run.id, life).and_then([&](bool has) {
      has_phases = has;
      return store::page::run_members(reading, run.id);
    });
  });
  const auto members = TRY(std::move(read));
  std::string body;
  JsonWriter json(body);
  TRY(write_runs(json, context.reader, {run}, [&](std::size_t) {
    write_facts(json, run);
    json.member("has_phases", has_phases);
    write_array(json, "members", members, write_member);
    write_time(json, "removal_ns",
               run.trashed ? std::optional(*run.trashed + store::kTrashKept) : std::nullopt);
    return write_neighbours(json, run, context.reader);
  }));
  return json_response(std::move(body));
}

namespace {

using store::tracking::ColumnValue;
using store::tracking::Facet;
using store::tracking::FoundRuns;

void write_value(JsonWriter& json, std::string_view name, const ColumnValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    json.member(name, *number);
  } else {
    const auto* text = std::get_if<std::string>(&value);
    write_text(json, name, text != nullptr ? *text : "");
  }
}

void write_details(JsonWriter& json, const FoundRuns& found, std::size_t run) {
  write_texts(json, "params", found.details[run].params);
  write_texts(json, "tags", found.details[run].tags);
  json.key("metrics").begin_object();
  for (const auto& metric : *found.metrics[run]) json.member(metric.key, metric.value);
  json.end_object();
}

void write_values(JsonWriter& json, std::string_view name,
                  const std::vector<Facet::Value>& values) {
  write_array(json, name, values, [](JsonWriter& out, const Facet::Value& value) {
    out.begin_object().member("value", value.value).member("count", value.count).end_object();
  });
}

void write_keys(JsonWriter& json, std::string_view name, const std::vector<Facet>& facets) {
  json.key(name).begin_array();
  for (const Facet& facet : facets) {
    json.begin_object().member("key", facet.field.key);
    write_values(json, "values", facet.values);
    json.member("distinct", facet.distinct).end_object();
  }
  json.end_array();
}

void write_spread(JsonWriter& json, std::string_view name, const store::tracking::Spread& spread) {
  json.key(name);
  if (spread.count == 0) {
    json.null();
    return;
  }
  json.begin_object().member("count", spread.count).member("min", spread.min);
  json.member("max", spread.max).member("mean", spread.mean).end_object();
}

void write_groups(JsonWriter& json, const RunSearchRequest& wanted,
                  std::span<const store::tracking::RunGroup> groups) {
  json.key("groups").begin_array();
  for (const auto& group : groups) {
    json.begin_object().member("value", group.value).member("count", group.count);
    json.key("values").begin_object();
    for (std::size_t c = 0; c < wanted.columns.size(); ++c) {
      if (!wanted.question.columns[c].is_text())
        write_spread(json, wanted.columns[c], group.values[c]);
    }
    json.end_object();
    write_spread(json, "duration", group.duration);
    write_spread(json, "loss", group.loss);
    json.member("loss_metric", group.loss_metric).end_object();
  }
  json.end_array();
}

void write_facets(JsonWriter& json, const RunSearchRequest& request, const FoundRuns& found) {
  json.key("facets").begin_object();
  for (std::size_t i = 0; i < found.facets.size(); ++i)
    write_values(json, request.facets[i], found.facets[i].values);
  if (request.question.param_facets) write_keys(json, "params", found.params);
  if (request.question.tag_facets) write_keys(json, "tags", found.tags);
  json.end_object().member("truncated_facets", found.facets_cut);
}

}  // namespace

Answer search_runs(const Request& request, Context& context) {
  const RunSearchRequest wanted = TRY_PARSED(parse_run_search(request.body));
  const FoundRuns found = TRY(in_snapshot(context.reader, [&](store::Reading& reading) {
    return store::tracking::find_runs(reading, wanted.question);
  }));
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  TRY(write_runs(json, context.reader, found.runs, [&](std::size_t run) {
    json.key("values").begin_object();
    for (std::size_t c = 0; c < wanted.columns.size(); ++c)
      write_value(json, wanted.columns[c], found.values[run][c]);
    json.end_object();
    if (wanted.question.details) write_details(json, found, run);
    return Result<>();
  }));
  json.end_array().member("total", found.total);
  json.member("offset", wanted.question.paging.offset);
  if (wanted.question.group && wanted.question.paging.offset == 0)
    write_groups(json, wanted, found.groups);
  write_facets(json, wanted, found);
  json.end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
