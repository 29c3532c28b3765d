// POST /lines: one line for each series or group.
#include <fmt/core.h>

#include <algorithm>

#include "analyze/line.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using analyze::LineKind;
using query::Smoothing;

constexpr double kNanosPerSecond = 1e9;
constexpr double kMostSeconds = 1e9;  // about 30 years
constexpr NumberRange kSeconds{.low = 0, .high = kMostSeconds, .open = true};
constexpr NumberRange kSteps{.low = 0, .high = 1e15, .open = true};
constexpr NumberRange kShare{.low = 0, .high = 1, .open = true};

// A length on the axis: seconds, or steps.
double read_length(RequestFields& fields, std::string_view name, query::ChartAxis axis) {
  const bool steps = axis == query::ChartAxis::kStep;
  if (!fields.has(name)) return 0;
  const double length = fields.number(name, 1, steps ? kSteps : kSeconds);
  return steps ? length : length * kNanosPerSecond;
}

void read_smooth(RequestFields& fields, query::ChartAxis axis, query::SmoothOptions& options) {
  fields.only({"kind", "series", "origins_ns", "mode", "method", "alpha", "unit", "window"});
  const auto method = fields.choice<Smoothing>("method", {{"ema", Smoothing::kTimeEma},
                                                          {"point_ema", Smoothing::kPointEma},
                                                          {"gaussian", Smoothing::kGaussian},
                                                          {"mean", Smoothing::kRunningMean}});
  options.kind = method.value_or(Smoothing::kTimeEma);
  options.alpha = fields.number("alpha", options.alpha, kShare);
  const double unit = read_length(fields, "unit", axis);
  if (unit > 0) {
    options.unit = unit;
  } else {
    options.unit = axis == query::ChartAxis::kStep ? 1 : kNanosPerSecond;
  }
  options.width = read_length(fields, "window", axis);
  const bool windows =
      options.kind == Smoothing::kGaussian || options.kind == Smoothing::kRunningMean;
  if (windows && !fields.has("window"))
    fields.wrong("window", "given for this method, in seconds or steps");
}

void read_integral(RequestFields& fields, query::ChartAxis axis, analyze::LineQuestion& line) {
  using query::IntegralRule;
  fields.only({"kind", "series", "origins_ns", "mode", "rule", "max_gap_s"});
  line.rule = fields.choice<IntegralRule>("rule", {{"trapezoid", IntegralRule::kTrapezoid},
                                                   {"forward", IntegralRule::kForward},
                                                   {"backward", IntegralRule::kBackward}});
  const double gap = fields.number("max_gap_s", 3600, kSeconds);
  line.max_gap = Nanos(std::max<std::int64_t>(1, static_cast<std::int64_t>(gap * kNanosPerSecond)));
  if (axis == query::ChartAxis::kStep)
    fields.wrong("kind", "another on the step axis: an integral is over time");
}

void read_group(RequestFields& fields, analyze::GroupOptions& options) {
  fields.only({"kind", "series", "origins_ns", "mode", "repetitions", "confidence", "max_hole"});
  options.repetitions = fields.boolean("repetitions");
  options.confidence = fields.number("confidence", options.confidence, kShare);
  if (fields.has("max_hole"))
    options.max_hole =
        static_cast<std::uint32_t>(fields.count("max_hole", 0, query::kMaxChartWidth));
}

// The baseline's series and origins follow those of the line.
void read_compare(RequestFields& fields, query::ChartAxis axis, analyze::LineQuestion& line) {
  fields.only({"kind", "series", "origins_ns", "baseline", "baseline_origins_ns", "mode", "as",
               "max_hole"});
  const auto baseline = fields.series("baseline", 1, analyze::kMaxLineSeries);
  const bool relative = axis == query::ChartAxis::kRelative;
  const auto origins = fields.integers("baseline_origins_ns", relative ? baseline.size() : 0,
                                       "one for each of a relative axis, else absent");
  line.baseline = baseline.size();
  line.series.insert(line.series.end(), baseline.begin(), baseline.end());
  line.origins.insert(line.origins.end(), origins.begin(), origins.end());
  line.difference =
      fields.choice<bool>("as", {{"difference", true}, {"ratio", false}}).value_or(true);
  if (fields.has("max_hole"))
    line.group.max_hole =
        static_cast<std::uint32_t>(fields.count("max_hole", 0, query::kMaxChartWidth));
}

analyze::LineQuestion read_line(RequestFields& fields, query::ChartAxis axis) {
  analyze::LineQuestion line;
  line.kind = fields
                  .choice<LineKind>("kind", {{"mean", LineKind::kMean},
                                             {"smooth", LineKind::kSmooth},
                                             {"integral", LineKind::kIntegral},
                                             {"ratio", LineKind::kRatio},
                                             {"group", LineKind::kGroup},
                                             {"compare", LineKind::kCompare}})
                  .value_or(LineKind::kMean);
  const bool group = line.kind == LineKind::kGroup || line.kind == LineKind::kCompare;
  const std::size_t wanted = line.kind == LineKind::kRatio ? 2 : 1;
  line.series = fields.series("series", wanted, group ? analyze::kMaxLineSeries : wanted);
  line.origins = read_origins(fields, axis, line.series.size());
  line.mode = read_mode(fields);
  switch (line.kind) {
    case LineKind::kSmooth:
      read_smooth(fields, axis, line.smooth);
      break;
    case LineKind::kIntegral:
      read_integral(fields, axis, line);
      break;
    case LineKind::kGroup:
      read_group(fields, line.group);
      break;
    case LineKind::kCompare:
      read_compare(fields, axis, line);
      break;
    case LineKind::kMean:
    case LineKind::kRatio:
      fields.only({"kind", "series", "origins_ns", "mode"});
      break;
  }
  return line;
}

}  // namespace

Parsed<analyze::LineRequest> parse_line_request(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"lines", "axis", "from_ns", "to_ns", "from_step", "to_step", "width", "exact"});
  analyze::LineRequest request;
  request.width = static_cast<std::uint32_t>(fields.count("width", 1, query::kMaxChartWidth));
  const AxisRange range = read_axis_range(fields);
  request.axis = range.axis;
  request.from = range.from;
  request.to = range.to;
  request.exact = fields.boolean("exact").value_or(true);
  std::size_t series = 0;
  fields.each("lines", analyze::kMaxLines, [&](RequestFields& one) {
    request.lines.push_back(read_line(one, request.axis));
    series += request.lines.back().series.size();
  });
  if (series > analyze::kMaxLineSeries)
    fields.wrong("lines", fmt::format("of at most {} series together", analyze::kMaxLineSeries));
  return fields.finish(std::move(request));
}

Answer lines(const Request& request, Context& context) {
  const auto wanted = TRY_PARSED(parse_line_request(request.body));
  return binary_response("application/x-corral-lines",
                         analyze::encode_lines(TRY(analyze::make_lines(context.reader, wanted))));
}

}  // namespace corral::server::api
