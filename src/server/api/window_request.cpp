#include "server/api/window_request.h"

#include <algorithm>
#include <limits>

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

}  // namespace corral::server::api
