// Lines, statistics of windows and latest values.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "metric/foreign.h"
#include "query/select.h"
#include "query/series/window.h"
#include "server/api/handlers.h"
#include "server/api/line_request.h"
#include "server/api/window_request.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kSeriesAtOnce = 64;  // in one snapshot

Response refused(const RequestError& error) {
  return error_response(error.error, {error.field, error.position});
}

store::Channel channel_of(query::ChartMode mode, metric::Kind kind) {
  return query::as_rate(mode, kind) ? store::Channel::kRate : store::Channel::kValue;
}

std::vector<SeriesId> distinct(std::span<const query::SeriesInput> inputs) {
  std::vector<SeriesId> ids;
  for (const query::SeriesInput& input : inputs) ids.push_back(input.series);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// Chooses what each series is taken as.
Result<> set_channels(const store::Reader& store, WindowQuestion& question) {
  std::map<SeriesId, metric::Kind> kinds;
  for (const store::Series& info : TRY(store.series(distinct(question.request.series))))
    kinds[info.id] = info.kind;
  for (query::SeriesInput& input : question.request.series) {
    const auto kind = kinds.find(input.series);
    if (kind == kinds.end())
      return fail(Code::kNotFound, fmt::format("there is no series {}", input.series.value));
    input.channel = channel_of(question.mode, kind->second);
  }
  return {};
}

// One series, whose rule depends on what it is taken as.
Result<query::WindowStatistics> one_window(store::PointView& view, const WindowQuestion& question,
                                           const query::SeriesInput& input) {
  query::WindowRequest one = question.request;
  one.series = {input};
  const bool rate = input.channel == store::Channel::kRate;
  one.integral_options.rule = question.rule.value_or(rate ? query::IntegralRule::kBackward
                                                          : query::IntegralRule::kTrapezoid);
  auto all = TRY(query::window_statistics(view, one));
  return std::move(all.front());
}

Result<std::vector<query::WindowStatistics>> all_windows(const store::Reader& store,
                                                         const WindowQuestion& question) {
  std::vector<query::WindowStatistics> all;
  const std::span<const query::SeriesInput> inputs = question.request.series;
  for (std::size_t i = 0; i < inputs.size(); i += kSeriesAtOnce) {
    const auto lot = inputs.subspan(i, std::min(kSeriesAtOnce, inputs.size() - i));
    const auto read = [&](store::PointView& view) -> Result<> {
      for (const query::SeriesInput& input : lot)
        all.push_back(TRY(one_window(view, question, input)));
      return {};
    };
    TRY(store.view(distinct(lot), read));
  }
  return all;
}

void write_place(JsonWriter& json, const query::PlacedValue& place) {
  json.member("value", place.value).key("time_ns");
  write_integer(json, place.time);
  json.key("step");
  write_integer(json, place.step);
}

void write_placed(JsonWriter& json, std::string_view name,
                  const std::optional<query::PlacedValue>& place) {
  json.key(name);
  if (!place) {
    json.null();
    return;
  }
  json.begin_object();
  write_place(json, *place);
  json.end_object();
}

void write_integral(JsonWriter& json, const query::WindowStatistics& window) {
  json.key("integral");
  if (!window.integral || window.integral->covered <= 0) {
    json.null();
    return;
  }
  json.begin_object().member("value", window.integral->integral);
  json.member("covered_s", window.integral->covered).member("mean", window.integral->mean());
  json.member("least", window.integral->least).member("most", window.integral->most);
  json.member("exact", window.integral_exact).end_object();
}

void write_quantiles(JsonWriter& json, const query::WindowStatistics& window,
                     std::span<const double> probabilities) {
  json.key("quantiles").begin_array();
  const auto& found = window.quantiles.quantiles;
  for (std::size_t i = 0; window.count > 0 && i < found.size(); ++i) {
    json.begin_object().member("p", probabilities[i]).member("value", found[i].value);
    json.member("least", found[i].least).member("most", found[i].most).end_object();
  }
  json.end_array().member("quantiles_exact", window.quantiles.exact);
}

void write_window(JsonWriter& json, const query::WindowStatistics& window,
                  const WindowQuestion& question, store::Channel channel) {
  const bool some = window.count > 0;
  json.begin_object().member("series", window.id.value);
  json.member("rate", channel == store::Channel::kRate);
  json.member("count", static_cast<std::int64_t>(window.count));
  json.member("not_finite", static_cast<std::int64_t>(window.not_finite)).key("sum");
  write_number(json, some ? std::optional(window.sum) : std::nullopt);
  json.key("mean");
  write_number(json, window.mean);
  json.key("deviation");
  write_number(json, window.deviation);
  write_placed(json, "min", window.min);
  write_placed(json, "max", window.max);
  write_placed(json, "first", window.first);
  write_placed(json, "last", window.last);
  write_integral(json, window);
  write_quantiles(json, window, question.request.probabilities);
  json.member("lost_points", static_cast<std::int64_t>(window.lost.points));
  json.member("lost_rows", window.lost.spans).end_object();
}

// ---- latest values
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

Response lines(const Request& request, Context& context) {
  const auto wanted = parse_line_request(request.body);
  if (!wanted) return refused(wanted.error());
  const Result<analyze::Lines> answer = analyze::make_lines(context.reader, *wanted);
  if (!answer) return error_response(answer.error());
  Response response;
  response.headers = {{"Content-Type", "application/x-corral-lines"},
                      {"Cache-Control", "no-store"}};
  response.body = analyze::encode_lines(*answer);
  return response;
}

Response windows(const Request& request, Context& context) {
  auto question = parse_window_request(request.body);
  if (!question) return refused(question.error());
  if (const auto set = set_channels(context.reader, *question); !set)
    return error_response(set.error());
  const auto answer = all_windows(context.reader, *question);
  if (!answer) return error_response(answer.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("windows").begin_array();
  for (std::size_t i = 0; i < answer->size(); ++i)
    write_window(json, (*answer)[i], *question, question->request.series[i].channel);
  json.end_array().end_object();
  return json_response(std::move(body));
}

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
