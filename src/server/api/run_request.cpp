#include "server/api/run_request.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::server::api {
namespace {

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

}  // namespace corral::server::api
