// Runs: one, pages of them, and the search behind the page's list.
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "query/summary.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"
#include "store/tables/health.h"

namespace corral::server::api {
namespace {

void write_exit(JsonWriter& json, std::string_view name, std::optional<std::int32_t> value) {
  json.key(name);
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}

void write_loss(JsonWriter& json, const query::Loss* loss) {
  json.key("loss");
  if (loss == nullptr) {
    json.null();
    return;
  }
  json.begin_object().member("metric", loss->metric).member("value", loss->value).key("step");
  if (loss->step) {
    json.value(*loss->step);
  } else {
    json.null();
  }
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
  write_optional_text(json, "workload", run.workload_name);
  json.member("status", store::status_name(run.status));
  const std::string* outcome = find_fact(run.tags, "corral.outcome");
  write_optional_text(json, "outcome", outcome != nullptr ? *outcome : "");
  json.key("start_ns");
  write_time(json, run.start);
  json.key("end_ns");
  write_time(json, run.end);
  json.key("duration_s");
  if (run.end_reason == codec::EndReason::kNotStarted) {
    json.null();
  } else {
    write_number(
        json, corral::mlflow::run_seconds(ns_of(run.start), ns_of(run.end.value_or(run.newest))));
  }
  write_exit(json, "exit_code", run.exit_code);
  write_exit(json, "exit_signal", run.exit_signal);
  json.member("host", run.host).key("command");
  const std::string* command = find_fact(run.info, "command");
  write_json_text(json, command != nullptr ? *command : "null");
  write_loss(json, loss);
}

// The number of parts of each run's capture, listeners and sources that have a problem
// (docs/health.md).
Result<std::vector<std::int64_t>> health_problems(const store::Reader& store,
                                                  std::span<const RunId> runs) {
  std::vector<std::int64_t> problems;
  const auto count = [&](store::Reading& reading) -> Result<> {
    for (const RunId run : runs) {
      const auto parts = TRY(store::page::health_parts(reading, run));
      problems.push_back(std::ranges::count_if(parts, &store::page::HealthPart::troubled));
    }
    return {};
  };
  TRY(store.inspect(count));
  return problems;
}

using store::tracking::parse_run_field;
using store::tracking::RunField;

constexpr std::size_t kMostScopes = 1000;  // experiments, workloads
constexpr std::size_t kMostScopedRuns = 10'000;
constexpr std::size_t kIdBytes = 32;
constexpr std::size_t kFilterBytes = 65'536;
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
    "start, duration, name, status, experiment, workload, host, collocation, model, device, "
    "metrics.NAME, params.KEY or tags.KEY";

// The list `name`: texts of at most `bytes`, as many as `most`; none when it is absent.
struct ListLimits {
  std::size_t most, bytes;
};
std::vector<std::string> read_list(RequestFields& fields, const Json& json, std::string_view name,
                                   ListLimits limits) {
  const Json* member = json.find(name);
  const Json::Array* all = member == nullptr ? nullptr : member->as_array();
  if (all != nullptr ? all->empty() : !fields.has(name)) return {};
  std::vector<std::string> texts;
  if (all != nullptr && all->size() <= limits.most) {
    for (const Json& item : *all) {
      const std::string* text = item.as_string();
      if (text == nullptr || text->size() > limits.bytes) break;
      texts.push_back(*text);
    }
  }
  if (all == nullptr || texts.size() != all->size()) {
    fields.wrong(name, fmt::format("an array of at most {} texts", limits.most));
    texts.clear();
  }
  return texts;
}

// `parse` gives an optional or a Result.
template <class Value, class Parse>
std::vector<Value> parse_all(RequestFields& fields, std::string_view name,
                             const std::vector<std::string>& texts, std::string_view expected,
                             Parse&& parse) {
  std::vector<Value> values;
  for (const std::string& text : texts) {
    const auto value = parse(text);
    if (!value) {
      fields.wrong(name, fmt::format("{}, got '{}'", expected, to_utf8(text)));
      return {};
    }
    values.push_back(*value);
  }
  return values;
}

void read_scope(RequestFields& fields, const Json& json, store::tracking::RunScope& scope) {
  scope.experiments = read_experiment_ids(fields, json);
  scope.workloads = parse_all<WorkloadId>(
      fields, "workloads", read_list(fields, json, "workloads", {kMostScopes, kIdBytes}),
      "ids of 32 hex digits", [](const std::string& text) { return WorkloadId::parse(text); });
  scope.runs = read_run_ids(fields, json, kMostScopedRuns);
}

std::string read_text(RequestFields& fields, const Json& json, std::string_view name,
                      std::size_t most) {
  if (!fields.has(name)) return "";
  const std::string* text = json.find(name)->as_string();
  if (text != nullptr && text->size() <= most) return *text;
  fields.wrong(name, fmt::format("a text of at most {} bytes", most));
  return "";
}

void read_filter(RequestFields& fields, const Json& json, std::string_view body,
                 store::tracking::RunQuestion& question) {
  const std::string text = read_text(fields, json, "filter", kFilterBytes);
  if (text.find('\0') != std::string::npos) return fields.wrong("filter", "a text without NUL");
  auto filter = corral::mlflow::parse_filter(corral::mlflow::SearchKind::kRuns, text);
  if (filter) {
    question.filter = *std::move(filter);
    return;
  }
  const std::size_t at = body.find("\"filter\"");
  fields.wrong({{Code::kInvalidArgument, filter.error().message},
                "filter",
                at == std::string_view::npos ? std::nullopt : std::optional(at)});
}

std::vector<std::string> words_of(std::string_view text) {
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

void read_choices(RequestFields& fields, std::string_view body,
                  store::tracking::RunQuestion& question) {
  const Json* where = fields.object("where");
  if (where == nullptr) return;
  const Json::Object& members = *where->as_object();
  if (members.size() > store::tracking::kMostChoices)
    return fields.wrong(
        "where", fmt::format("an object of at most {} members", store::tracking::kMostChoices));
  RequestFields inner(body, *where, "where.");
  for (const auto& [name, values] : members) {
    const auto field = name.size() <= kFieldBytes ? parse_run_field(name) : std::nullopt;
    if (!field || !is_choice(*field)) {
      inner.wrong(name,
                  "one of status, experiment, workload, host, collocation, model, device, "
                  "params.KEY or tags.KEY");
      break;
    }
    auto texts = read_list(inner, *where, name, {kMostValues, kValueBytes});
    if (!texts.empty()) question.choices.push_back({*field, std::move(texts)});
  }
  if (inner.error()) fields.wrong(*inner.error());
}

void read_orders(RequestFields& fields, std::string_view body,
                 store::tracking::RunQuestion& question, const Json& json) {
  const Json* member = json.find("order");
  const bool none =
      member != nullptr && member->as_array() != nullptr && member->as_array()->empty();
  if (!fields.has("order") || none) return;
  const Json::Array* all = fields.objects("order", kMostOrders);
  if (all == nullptr) return;
  for (std::size_t i = 0; i < all->size(); ++i) {
    RequestFields one(body, (*all)[i], fmt::format("order[{}].", i));
    one.only({"by", "descending"});
    const auto field = parse_run_field(read_text(one, (*all)[i], "by", kFieldBytes));
    const bool descending = one.boolean("descending").value_or(false);
    if (!field) one.wrong("by", fmt::format("one of {}", kFieldNames));
    if (one.error()) return fields.wrong(*one.error());
    question.orders.push_back({*field, descending});
  }
}

void read_facets(RequestFields& fields, const Json& json, RunSearchRequest& request) {
  auto names = read_list(fields, json, "facets", {kMostFacets, kFieldBytes});
  request.question.param_facets = std::erase(names, "params") > 0;
  request.question.tag_facets = std::erase(names, "tags") > 0;
  request.question.facets = parse_all<RunField>(
      fields, "facets", names,
      "of status, experiment, workload, host, collocation, model, device, params, tags, "
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

std::vector<RunId> read_run_ids(RequestFields& fields, const Json& json, std::size_t most) {
  return parse_all<RunId>(fields, "runs", read_list(fields, json, "runs", {most, kIdBytes}),
                          "ids of 32 hex digits",
                          [](const std::string& text) { return RunId::parse(text); });
}

std::vector<ExperimentId> read_experiment_ids(RequestFields& fields, const Json& json) {
  return parse_all<ExperimentId>(fields, "experiments",
                                 read_list(fields, json, "experiments", {kMostScopes, kIdBytes}),
                                 "ids of experiments", [](const std::string& text) {
                                   const auto id = parse_int(text);
                                   return id ? std::optional(ExperimentId{*id}) : std::nullopt;
                                 });
}

Parsed<RunSearchRequest> parse_run_search(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"experiments", "workloads", "runs", "filter", "text", "where", "order", "columns",
               "facets", "limit", "offset"});
  RunSearchRequest request;
  store::tracking::RunQuestion& question = request.question;
  read_scope(fields, *json, question.scope);
  read_filter(fields, *json, text, question);
  question.words = words_of(read_text(fields, *json, "text", kTextBytes));
  read_choices(fields, text, question);
  read_orders(fields, text, question, *json);
  request.columns = read_list(fields, *json, "columns", {kMostColumns, kFieldBytes});
  question.columns = parse_all<RunField>(fields, "columns", request.columns,
                                         fmt::format("of {}", kFieldNames), &parse_run_field);
  read_facets(fields, *json, request);
  question.paging.limit = read_integer(fields, "limit", kUsualRuns, kMostRuns);
  question.paging.offset = read_integer(fields, "offset", 0, kMostOffset);
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

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

namespace {

using store::tracking::ColumnValue;
using store::tracking::Facet;
using store::tracking::FoundRuns;

void write_value(JsonWriter& json, const ColumnValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (const auto* number = std::get_if<double>(&value)) {
    json.value(*number);
  } else if (text != nullptr && !text->empty()) {
    json.value(*text);
  } else {
    json.null();
  }
}

void write_values(JsonWriter& json, const std::vector<Facet::Value>& values) {
  json.begin_array();
  for (const Facet::Value& value : values)
    json.begin_object().member("value", value.value).member("count", value.count).end_object();
  json.end_array();
}

void write_keys(JsonWriter& json, std::string_view name, const std::vector<Facet>& facets) {
  json.key(name).begin_array();
  for (const Facet& facet : facets) {
    json.begin_object().member("key", facet.field.key).key("values");
    write_values(json, facet.values);
    json.member("distinct", facet.distinct).end_object();
  }
  json.end_array();
}

void write_facets(JsonWriter& json, const RunSearchRequest& request, const FoundRuns& found) {
  json.key("facets").begin_object();
  for (std::size_t i = 0; i < found.facets.size(); ++i) {
    json.key(request.facets[i]);
    write_values(json, found.facets[i].values);
  }
  if (request.question.param_facets) write_keys(json, "params", found.params);
  if (request.question.tag_facets) write_keys(json, "tags", found.tags);
  json.end_object().member("truncated_facets", found.facets_cut);
}

Result<std::string> search_json(const RunSearchRequest& request, const store::Reader& store) {
  FoundRuns found;
  const auto find = [&](store::Reading& reading) -> Result<> {
    found = TRY(store::tracking::find_runs(reading, request.question));
    return {};
  };
  TRY(store.inspect(find));
  std::vector<RunId> ids;
  for (const store::Run& run : found.runs) ids.push_back(run.id);
  const auto losses = TRY(query::losses_of(store, ids));
  const auto problems = TRY(health_problems(store, ids));
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  for (std::size_t i = 0; i < found.runs.size(); ++i) {
    const auto loss = losses.find(found.runs[i].id);
    json.begin_object();
    write_run(json, found.runs[i], loss != losses.end() ? &loss->second : nullptr);
    json.member("health_problems", problems[i]).key("values").begin_object();
    for (std::size_t c = 0; c < request.columns.size(); ++c) {
      json.key(request.columns[c]);
      write_value(json, found.values[i][c]);
    }
    json.end_object().end_object();
  }
  json.end_array().member("total", found.total);
  json.member("offset", request.question.paging.offset);
  write_facets(json, request, found);
  json.end_object();
  return body;
}

}  // namespace

Response search_runs(const Request& request, Context& context) {
  const auto wanted = parse_run_search(request.body);
  if (!wanted) return bad_body(wanted.error());
  Result<std::string> body = search_json(*wanted, context.reader);
  return body ? json_response(*std::move(body)) : error_response(body.error());
}

}  // namespace corral::server::api
