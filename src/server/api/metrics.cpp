// The series of a run, with their entries of the catalogue, and their latest values.
#include <algorithm>

#include "core/json.h"
#include "metric/catalogue.h"
#include "metric/foreign.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/series_inputs.h"
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
  json.key("alias_of");
  known ? json.value(foreign->alias) : json.null();
  json.key("alias_factor");
  write_number(json, known ? std::optional(foreign->factor) : std::nullopt);
}

void write_catalogue(JsonWriter& json, const store::Series& series) {
  const metric::Metric* known = metric::find_metric(series.name);
  json.key("rate_unit");
  if (known != nullptr && known->kind == metric::Kind::kCounter) {
    json.value(known->rate_unit);
  } else {
    json.null();
  }
  json.member("kind", series.kind == metric::Kind::kCounter ? "counter" : "gauge");
  json.member("aggregation", aggregation_name(series.aggregation));
  json.member("group", known != nullptr ? known->group : "software");
  json.member("description", known != nullptr ? known->describe : "");
  write_alias(json, series);
}

void write_series(JsonWriter& json, const store::Series& series) {
  const bool any = series.points > 0;
  const std::int64_t finite = series.points - series.nan;
  json.begin_object()
      .member("series", series.id.value)
      .member("name", series.name)
      .member("source", series.source);
  json.member("owner", metric::owner_name(series.owner)).member("unit", series.unit);
  if (!series.host.empty()) json.member("host", series.host);
  write_catalogue(json, series);
  json.member("points", series.points).key("first_ns");
  write_time(json, any ? std::optional(series.first) : std::nullopt);
  json.key("last_ns");
  write_time(json, any ? std::optional(series.last_time) : std::nullopt);
  json.key("first_step");
  write_integer(json, series.first_step);
  json.key("last_step");
  write_integer(json, series.last_step);
  json.key("last");
  write_number(json, series.last);
  json.key("min");
  write_number(json, series.min);
  json.key("max");
  write_number(json, series.max);
  json.key("mean");
  write_number(json,
               finite > 0 ? std::optional(series.sum / static_cast<double>(finite)) : std::nullopt);
  json.member("nan", series.nan).end_object();
}

}  // namespace

Response metrics(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  const Result<std::vector<store::Series>> found = context.reader.series_of(*run);
  if (!found) return error_response(found.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("metrics").begin_array();
  for (const store::Series& series : *found) write_series(json, series);
  json.end_array().end_object();
  return json_response(std::move(body));
}

namespace {

using Latest = std::vector<std::optional<query::PlacedValue>>;

Result<Latest> latest_of(const store::Reader& store, std::span<const query::SeriesInput> inputs) {
  Latest all;
  for (std::size_t i = 0; i < inputs.size(); i += kSeriesAtOnce) {
    const auto lot = inputs.subspan(i, std::min(kSeriesAtOnce, inputs.size() - i));
    const auto read = [&](store::PointView& view) -> Result<> {
      for (auto& one : TRY(query::latest_values(view, lot))) all.push_back(one);
      return {};
    };
    TRY(store.view(distinct(lot), read));
  }
  return all;
}

}  // namespace

Response latest(const Request& request, Context& context) {
  const std::string_view pattern = request.query_value("metric").value_or("*");
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  auto series = context.reader.series_of(*run);
  if (!series) return error_response(series.error());
  std::erase_if(*series,
                [&](const store::Series& s) { return !metric::name_matches(pattern, s.name); });
  std::vector<query::SeriesInput> inputs;
  for (const store::Series& s : *series)
    inputs.push_back({.series = s.id, .channel = channel_of(query::ChartMode::kAuto, s.kind)});
  const Result<Latest> found = latest_of(context.reader, inputs);
  if (!found) return error_response(found.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("latest").begin_array();
  for (std::size_t i = 0; i < found->size(); ++i) {
    const store::Series& s = (*series)[i];
    if (!(*found)[i]) continue;
    json.begin_object().member("series", s.id.value).member("name", s.name);
    json.member("source", s.source).member("rate", inputs[i].channel == store::Channel::kRate);
    write_place(json, *(*found)[i]);
    json.end_object();
  }
  json.end_array().end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
