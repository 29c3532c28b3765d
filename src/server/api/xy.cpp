// POST /xy: one metric over another.
#include <fmt/core.h>

#include <limits>

#include "query/chart/xy.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

struct AxisNames {
  std::string_view from, to, pixels, scale;
};
constexpr AxisNames kX{.from = "from", .to = "to", .pixels = "width", .scale = "x_scale"};
constexpr AxisNames kY{.from = "y_from", .to = "y_to", .pixels = "height", .scale = "y_scale"};

query::XyAxis read_axis(RequestFields& fields, const AxisNames& names) {
  constexpr double kMost = std::numeric_limits<double>::max();
  query::XyAxis axis;
  axis.pixels = static_cast<std::uint32_t>(fields.count(names.pixels, 1, query::kMaxChartWidth));
  axis.log = fields.choice<bool>(names.scale, {{"linear", false}, {"log", true}}).value_or(false);
  const NumberRange range = axis.log ? NumberRange{.low = 0, .high = kMost, .open = true}
                                     : NumberRange{.low = -kMost, .high = kMost};
  if (fields.has(names.from)) axis.from = fields.number(names.from, 1, range);
  if (fields.has(names.to)) axis.to = fields.number(names.to, 1, range);
  if (axis.from && axis.to && *axis.from >= *axis.to)
    fields.wrong(names.to, fmt::format("greater than {}", names.from));
  return axis;
}

}  // namespace

Parsed<query::XyRequest> parse_xy_request(std::string_view text) {
  using query::XyPairing;
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"lines", "pair", "draw", "mode", "from", "to", "y_from", "y_to", "x_scale",
               "y_scale", "width", "height", "from_ns", "to_ns"});
  query::XyRequest request;
  fields.each("lines", query::kMaxXyLines, [&](RequestFields& one) {
    one.only({"x", "y"});
    request.lines.push_back({.x = one.series_id("x"), .y = one.series_id("y")});
  });
  request.pairing = fields
                        .choice<XyPairing>("pair", {{"auto", XyPairing::kAuto},
                                                    {"step", XyPairing::kStep},
                                                    {"time", XyPairing::kTime}})
                        .value_or(XyPairing::kAuto);
  request.joined = fields.choice<bool>("draw", {{"line", true}, {"points", false}}).value_or(true);
  request.mode = read_mode(fields);
  request.x = read_axis(fields, kX);
  request.y = read_axis(fields, kY);
  const Ends time =
      read_ends(fields, {.from = "from_ns", .to = "to_ns", .unit = "nanoseconds of UTC"});
  request.from = time.from;
  request.to = time.to;
  return fields.finish(std::move(request));
}

Answer xy(const Request& request, Context& context) {
  const auto wanted = TRY_PARSED(parse_xy_request(request.body));
  return binary_response("application/x-corral-xy",
                         query::encode_xy(TRY(query::make_xy(context.reader, wanted))));
}

}  // namespace corral::server::api
