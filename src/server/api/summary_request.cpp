#include "server/api/summary_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/text.h"
#include "server/api/run_request.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kMostSparklines = 200;
constexpr std::int64_t kLeastPoints = 2, kMostPoints = 256;
constexpr std::size_t kNameBytes = 1000;
constexpr std::array<std::pair<std::string_view, SummaryValue>, 5> kValues = {{
    {"last", SummaryValue::kLast},
    {"mean", SummaryValue::kMean},
    {"min", SummaryValue::kMin},
    {"max", SummaryValue::kMax},
    {"count", SummaryValue::kCount},
}};

bool is_name(std::string_view text) {
  return text.size() <= kNameBytes && text.find('\0') == std::string_view::npos;
}

// A text that may be absent, not longer than a name.
std::optional<std::string> read_name(RequestFields& fields, const Json& json,
                                     std::string_view name) {
  if (!fields.has(name)) return std::nullopt;
  const std::string* text = json.find(name)->as_string();
  if (text != nullptr && is_name(*text)) return *text;
  fields.wrong(name, fmt::format("a text of at most {} bytes, without NUL", kNameBytes));
  return std::nullopt;
}

std::vector<SummaryValue> read_values(RequestFields& fields) {
  std::vector<SummaryValue> values;
  for (const std::string& name : fields.texts("of", kValues.size(), kNameBytes)) {
    const auto value = parse_summary_value(name);
    if (!value) {
      fields.wrong("of", "of last, mean, min, max and count");
      break;
    }
    values.push_back(*value);
  }
  return values;
}

}  // namespace

std::string_view summary_value_name(SummaryValue value) {
  return std::ranges::find(kValues, value, &std::pair<std::string_view, SummaryValue>::second)
      ->first;
}

std::optional<SummaryValue> parse_summary_value(std::string_view name) {
  for (const auto& [known, value] : kValues) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::optional<double> value_of(const store::tracking::MetricSummary& summary, SummaryValue value) {
  switch (value) {
    case SummaryValue::kLast:
      return summary.last;
    case SummaryValue::kMean:
      return summary.mean;
    case SummaryValue::kMin:
      return summary.min;
    case SummaryValue::kMax:
      return summary.max;
    case SummaryValue::kCount:
      break;
  }
  return std::nullopt;
}

Parsed<query::SparklineRequest> parse_sparklines(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"runs", "metric", "points"});
  query::SparklineRequest request;
  request.runs = read_run_ids(fields, *json, kMostSparklines);
  request.metric = read_name(fields, *json, "metric").value_or("");
  if (fields.has("points"))
    request.points = static_cast<std::uint32_t>(fields.count("points", kLeastPoints, kMostPoints));
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

Parsed<SummaryRequest> parse_summaries(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"runs", "experiments", "metrics", "of", "source"});
  SummaryRequest request;
  request.scope.runs = read_run_ids(fields, *json, kMostSummaryRuns);
  request.scope.experiments = read_experiment_ids(fields, *json);
  if (request.scope.runs.empty() == request.scope.experiments.empty())
    fields.wrong(fields.has("experiments") ? "experiments" : "runs",
                 "given, or the other one: runs or experiments");
  request.question.metrics = fields.texts("metrics", store::tracking::kMostMetrics, kNameBytes);
  const std::set<std::string> distinct(request.question.metrics.begin(),
                                       request.question.metrics.end());
  if (distinct.size() != request.question.metrics.size() || !std::ranges::all_of(distinct, is_name))
    fields.wrong("metrics", "distinct names without NUL");
  request.question.source = read_name(fields, *json, "source");
  request.values = read_values(fields);
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

}  // namespace corral::server::api
