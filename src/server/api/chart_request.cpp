#include "server/api/chart_request.h"

namespace corral::server::api {

Parsed<query::ChartRequest> parse_chart_request(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"series", "origins_ns", "axis", "from_ns", "to_ns", "from_step", "to_step", "width",
               "mode", "exact"});
  query::ChartRequest request;
  request.series = fields.series("series", 1, query::kMaxChartSeries);
  request.width = static_cast<std::uint32_t>(fields.count("width", 1, query::kMaxChartWidth));
  request.mode = read_mode(fields);
  const AxisRange range = read_axis_range(fields);
  request.axis = range.axis;
  request.from = range.from;
  request.to = range.to;
  request.origins = read_origins(fields, range.axis, request.series.size());
  request.exact = fields.boolean("exact").value_or(true);
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

}  // namespace corral::server::api
