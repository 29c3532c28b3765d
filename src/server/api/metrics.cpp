// The series of a run, with their entries of the catalogue, and their latest values.
#include <algorithm>
#include <limits>

#include "core/json.h"
#include "metric/catalogue.h"
#include "metric/foreign.h"
#include "query/chart/chart.h"
#include "query/series/window.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

std::string_view aggregation_name(metric::Aggregation aggregation) {
  switch (aggregation) {
    case metric::Aggregation::kMean:
      return "mean";
    case metric::Aggregation::kSum:
      return "sum";
    case metric::Aggregation::kSharedOnce:
      return "shared_once";
  }
  return "mean";
}

// For another tool's metric: the equivalent metric of the catalogue, and the conversion of its
// values.
void write_alias(JsonWriter& json, const store::Series& series) {
  const auto foreign = metric::find_foreign(series.name);
  const bool known = foreign && !foreign->alias.empty();
  write_text(json, "alias_of", known ? foreign->alias : "");
  write_optional(json, "alias_factor", known ? std::optional(foreign->factor) : std::nullopt);
}

void write_catalogue(JsonWriter& json, const store::Series& series) {
  const metric::Metric* known = metric::find_metric(series.name);
  const bool counter = known != nullptr && known->kind == metric::Kind::kCounter;
  write_optional(json, "rate_unit", counter ? std::optional(known->rate_unit) : std::nullopt);
  json.member("kind", series.kind == metric::Kind::kCounter ? "counter" : "gauge");
  json.member("aggregation", aggregation_name(series.aggregation));
  json.member("group", known != nullptr ? known->group : "software");
  json.member("description", known != nullptr ? known->describe : "");
  write_alias(json, series);
}

void write_series(JsonWriter& json, const store::Series& series) {
  const bool any = series.points > 0;
  const std::int64_t finite = series.points - series.nan;
  json.begin_object().member("series", series.id.value).member("name", series.name);
  json.member("source", series.source).member("owner", metric::owner_name(series.owner));
  json.member("unit", series.unit);
  if (!series.host.empty()) json.member("host", series.host);
  write_catalogue(json, series);
  json.member("points", series.points);
  write_time(json, "first_ns", any ? std::optional(series.first) : std::nullopt);
  write_time(json, "last_ns", any ? std::optional(series.last_time) : std::nullopt);
  write_integer(json, "first_step", series.first_step);
  write_integer(json, "last_step", series.last_step);
  write_optional(
      json, "last",
      series.ends_nan ? std::optional(std::numeric_limits<double>::quiet_NaN()) : series.last);
  write_optional(json, "min", series.min);
  write_optional(json, "max", series.max);
  write_optional(
      json, "mean",
      finite > 0 ? std::optional(series.sum / static_cast<double>(finite)) : std::nullopt);
  json.member("nan", series.nan).end_object();
}

}  // namespace

Answer metrics(const Request& request, Context& context) {
  const RunId run = TRY(requested_run(request, context));
  return array_response("metrics", TRY(context.reader.series_of(run)), write_series);
}

Answer latest(const Request& request, Context& context) {
  const std::string_view pattern = request.query_value("metric").value_or("*");
  const RunId run = TRY(requested_run(request, context));
  std::vector<store::Series> series = TRY(context.reader.series_of(run));
  std::erase_if(series,
                [&](const store::Series& s) { return !metric::name_matches(pattern, s.name); });
  std::vector<query::SeriesInput> inputs;
  inputs.reserve(series.size());
  for (const store::Series& s : series)
    inputs.push_back(query::input_from(s, query::ChartMode::kAuto));
  const auto found = TRY(query::latest_values(context.reader, inputs));
  return object_response([&](JsonWriter& json) {
    json.key("latest").begin_array();
    for (std::size_t i = 0; i < found.size(); ++i) {
      const store::Series& s = series[i];
      if (!found[i]) continue;
      json.begin_object().member("series", s.id.value).member("name", s.name);
      json.member("source", s.source).member("rate", inputs[i].channel == store::Channel::kRate);
      write_placed(json, *found[i]);
      json.end_object();
    }
    json.end_array();
  });
}

}  // namespace corral::server::api
