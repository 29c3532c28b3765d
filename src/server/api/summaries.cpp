// POST /summaries: statistics of metrics of many runs, for bar charts and parameters against a
// metric.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

constexpr std::array<std::pair<std::string_view, SummaryValue>, 5> kValues = {{
    {"last", SummaryValue::kLast},
    {"mean", SummaryValue::kMean},
    {"min", SummaryValue::kMin},
    {"max", SummaryValue::kMax},
    {"count", SummaryValue::kCount},
}};

std::vector<SummaryValue> read_values(RequestFields& fields) {
  std::vector<SummaryValue> values;
  for (const std::string& name : fields.texts("of", kValues.size(), kMetricNameBytes)) {
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

std::optional<double> summary_value(const store::tracking::MetricSummary& summary,
                                    SummaryValue value) {
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

Parsed<SummaryRequest> parse_summaries(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"runs", "experiments", "metrics", "of", "source"});
  SummaryRequest request;
  request.scope.runs = fields.run_ids(kMostSummaryRuns);
  request.scope.experiments = fields.experiment_ids();
  if (request.scope.runs.empty() == request.scope.experiments.empty())
    fields.wrong(fields.has("experiments") ? "experiments" : "runs",
                 "given, or the other one: runs or experiments");
  request.question.metrics =
      fields.texts("metrics", store::tracking::kMostMetrics, kMetricNameBytes);
  const std::set<std::string> distinct(request.question.metrics.begin(),
                                       request.question.metrics.end());
  if (distinct.size() != request.question.metrics.size() ||
      !std::ranges::all_of(distinct, is_metric_name))
    fields.wrong("metrics", "distinct names without NUL");
  request.question.source = fields.metric_name("source");
  request.values = read_values(fields);
  return fields.finish(std::move(request));
}

namespace {

using store::tracking::MetricSummary;

void write_summary(JsonWriter& json, const std::optional<MetricSummary>& summary,
                   const std::vector<SummaryValue>& values) {
  if (!summary) {
    json.null();
    return;
  }
  json.begin_object();
  for (const SummaryValue value : values) {
    const std::string_view name = summary_value_name(value);
    if (value == SummaryValue::kCount) {
      json.member(name, summary->count);
    } else {
      write_optional(json, name, summary_value(*summary, value));
    }
  }
  json.member("unit", summary->unit).member("rate", summary->rate);
  json.member("sources", summary->sources).member("shared", summary->shared).end_object();
}

Result<std::string> summaries_json(const SummaryRequest& request, store::Reading& reading) {
  store::tracking::RunTable table(reading);
  TRY(table.read(request.scope));
  if (table.rows().size() > kMostSummaryRuns)
    return fail(Code::kTooLarge, fmt::format("{} runs are more than {}: ask for some of them",
                                             table.rows().size(), kMostSummaryRuns));
  const auto all = TRY(store::tracking::summarize(reading, table, request.question));
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("summaries").begin_array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    json.begin_object().member("run", table.rows()[i].id.hex()).key("values").begin_object();
    for (std::size_t m = 0; m < all[i].size(); ++m) {
      json.key(request.question.metrics[m]);
      write_summary(json, all[i][m], request.values);
    }
    json.end_object().end_object();
  }
  json.end_array().end_object();
  return body;
}

}  // namespace

Answer summaries(const Request& request, Context& context) {
  const SummaryRequest wanted = TRY_PARSED(parse_summaries(request.body));
  return json_response(TRY(in_snapshot(
      context.reader, [&](store::Reading& reading) { return summaries_json(wanted, reading); })));
}

}  // namespace corral::server::api
