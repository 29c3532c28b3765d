// POST /windows: statistics of series in a window of time or of steps.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kMostQuantiles = 100;
// Points that are read one by one, of all series together.
constexpr std::uint64_t kExactPoints = std::uint64_t{1} << 28;
constexpr double kNanosPerSecond = 1e9;

}  // namespace

Parsed<WindowQuestion> parse_window_request(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
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
  return fields.finish(std::move(question));
}

namespace {

// Chooses for each series its values or its rate.
Result<> set_channels(const store::Reader& store, std::span<query::SeriesInput> inputs,
                      query::ChartMode mode) {
  const auto records = TRY(query::read_series(store, query::distinct(inputs)));
  for (query::SeriesInput& input : inputs)
    input.channel = query::channel_for(mode, records.at(input.series).kind);
  return {};
}

// Each series alone: its rule depends on whether it is taken as a rate.
Result<std::vector<query::WindowStatistics>> all_windows(const store::Reader& store,
                                                         const WindowQuestion& question) {
  std::vector<query::WindowStatistics> all;
  const auto read = [&](store::PointView& view, std::size_t i) -> Result<> {
    query::WindowRequest one = question.request;
    one.series = {question.request.series[i]};
    one.integral_options.rule =
        question.rule.value_or(query::usual_rule(one.series.front().channel));
    all.push_back(std::move(TRY(query::window_statistics(view, one)).front()));
    return {};
  };
  TRY(query::view_each(store, question.request.series, read));
  return all;
}

void write_optional_placed(JsonWriter& json, std::string_view name,
                           const std::optional<query::PlacedValue>& placed) {
  json.key(name);
  if (!placed) {
    json.null();
    return;
  }
  json.begin_object();
  write_placed(json, *placed);
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
  json.member("not_finite", static_cast<std::int64_t>(window.not_finite));
  write_optional(json, "sum", some ? std::optional(window.sum) : std::nullopt);
  write_optional(json, "mean", window.mean);
  write_optional(json, "deviation", window.deviation);
  write_optional_placed(json, "min", window.min);
  write_optional_placed(json, "max", window.max);
  write_optional_placed(json, "first", window.first);
  write_optional_placed(json, "last", window.last);
  write_integral(json, window);
  write_quantiles(json, window, question.request.probabilities);
  json.member("lost_points", static_cast<std::int64_t>(window.lost.points));
  json.member("lost_rows", window.lost.spans).end_object();
}

}  // namespace

Answer windows(const Request& request, Context& context) {
  WindowQuestion question = TRY_PARSED(parse_window_request(request.body));
  TRY(set_channels(context.reader, question.request.series, question.mode));
  const auto all = TRY(all_windows(context.reader, question));
  return object_response([&](JsonWriter& json) {
    json.key("windows").begin_array();
    for (std::size_t i = 0; i < all.size(); ++i)
      write_window(json, all[i], question, question.request.series[i].channel);
    json.end_array();
  });
}

}  // namespace corral::server::api
