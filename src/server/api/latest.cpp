// The latest values of a run's series.
#include <algorithm>

#include "metric/foreign.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/series_inputs.h"
#include "server/api/write.h"

namespace corral::server::api {
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
