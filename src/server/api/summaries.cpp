// Statistics of metrics of many runs, for bar charts and parameters against a metric.
#include <fmt/core.h>

#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/summary_request.h"
#include "server/api/write.h"

namespace corral::server::api {
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
    json.key(summary_value_name(value));
    if (value == SummaryValue::kCount) {
      json.value(summary->count);
    } else {
      write_number(json, value_of(*summary, value));
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

Response summaries(const Request& request, Context& context) {
  const auto wanted = parse_summaries(request.body);
  if (!wanted) return bad_body(wanted.error());
  std::string body;
  const auto read = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    body = TRY(summaries_json(*wanted, reading));
    return {};
  });
  return read ? json_response(std::move(body)) : error_response(read.error());
}

}  // namespace corral::server::api
