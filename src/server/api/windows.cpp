// POST /windows: statistics of series in a window of time or of steps.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>

#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/series_inputs.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kMostQuantiles = 100;
// Points that are read one by one, of all series together.
constexpr std::uint64_t kExactPoints = std::uint64_t{1} << 28;
constexpr double kNanosPerSecond = 1e9;

}  // namespace

Parsed<WindowQuestion> parse_window_request(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"series", "origins_ns", "axis", "from_ns", "to_ns", "from_step", "to_step", "mode",
               "quantiles", "rule", "max_gap_s"});
  WindowQuestion question;
  query::WindowRequest& request = question.request;
  const auto ids = fields.series("series", 1, query::kMaxChartSeries);
  const AxisRange range = read_axis_range(fields);
  const bool steps = range.axis == query::ChartAxis::kStep;
  const auto origins = read_origins(fields, range.axis, ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    request.series.push_back({.series = ids[i], .origin = i < origins.size() ? origins[i] : 0});
  request.axis = steps ? query::GridAxis::kStep : query::GridAxis::kTime;
  request.from = range.from.value_or(std::numeric_limits<std::int64_t>::min());
  request.to = range.to.value_or(std::numeric_limits<std::int64_t>::max());
  request.probabilities = fields.numbers("quantiles", kMostQuantiles, {.low = 0, .high = 1});
  request.integral = !steps;
  const double gap = fields.number("max_gap_s", 3600, {.low = 0, .high = 1e9, .open = true});
  request.integral_options.max_gap =
      Nanos(std::max<std::int64_t>(1, static_cast<std::int64_t>(gap * kNanosPerSecond)));
  question.mode = read_mode(fields);
  using query::IntegralRule;
  question.rule = fields.choice<IntegralRule>("rule", {{"trapezoid", IntegralRule::kTrapezoid},
                                                       {"forward", IntegralRule::kForward},
                                                       {"backward", IntegralRule::kBackward}});
  if (!ids.empty()) request.max_points = std::min(request.max_points, kExactPoints / ids.size());
  if (request.from >= request.to) fields.wrong(steps ? "to_step" : "to_ns", "later than the start");
  if (fields.error()) return tl::unexpected(*fields.error());
  return question;
}

namespace {

// Chooses for each series its values or its rate.
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

}  // namespace

Response windows(const Request& request, Context& context) {
  auto question = parse_window_request(request.body);
  if (!question) return bad_body(question.error());
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

}  // namespace corral::server::api
