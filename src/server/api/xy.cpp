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

SeriesId read_id(RequestFields& fields, std::string_view name) {
  const auto id = fields.integer(name, "a series");
  if (!id) fields.wrong(name, "a series");
  return SeriesId{id.value_or(0)};
}

}  // namespace

Parsed<query::XyRequest> parse_xy_request(std::string_view text) {
  using query::XyPairing;
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"lines", "pair", "draw", "mode", "from", "to", "y_from", "y_to", "x_scale",
               "y_scale", "width", "height", "from_ns", "to_ns"});
  query::XyRequest request;
  const Json::Array* lines = fields.objects("lines", query::kMaxXyLines);
  for (std::size_t i = 0; lines != nullptr && i < lines->size(); ++i) {
    RequestFields one(text, (*lines)[i], fmt::format("lines[{}].", i));
    one.only({"x", "y"});
    request.lines.push_back({.x = read_id(one, "x"), .y = read_id(one, "y")});
    if (one.error()) fields.wrong(*one.error());
  }
  request.pairing = fields
                        .choice<XyPairing>("pair", {{"auto", XyPairing::kAuto},
                                                    {"step", XyPairing::kStep},
                                                    {"time", XyPairing::kTime}})
                        .value_or(XyPairing::kAuto);
  request.joined = fields.choice<bool>("draw", {{"line", true}, {"points", false}}).value_or(true);
  request.mode = read_mode(fields);
  request.x = read_axis(fields, kX);
  request.y = read_axis(fields, kY);
  request.from = fields.integer("from_ns", "nanoseconds of UTC");
  request.to = fields.integer("to_ns", "nanoseconds of UTC");
  if (request.from && request.to && *request.from >= *request.to)
    fields.wrong("to_ns", "later than from_ns");
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

Response xy(const Request& request, Context& context) {
  const auto wanted = parse_xy_request(request.body);
  if (!wanted) return bad_body(wanted.error());
  const Result<query::Xy> answer = query::make_xy(context.reader, *wanted);
  if (!answer) return error_response(answer.error());
  Response response;
  response.headers = {{"Content-Type", "application/x-corral-xy"}, {"Cache-Control", "no-store"}};
  response.body = query::encode_xy(*answer);
  return response;
}

}  // namespace corral::server::api
