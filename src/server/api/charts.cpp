// POST /charts: chart columns.
#include "query/chart/chart.h"

#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"

namespace corral::server::api {

Parsed<query::ChartRequest> parse_chart_request(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"series", "origins_ns", "axis", "from_ns", "to_ns", "from_step", "to_step", "width",
               "mode", "exact", "since"});
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
  if (fields.has("since")) {
    const bool timed = range.axis != query::ChartAxis::kStep;
    request.since = fields.integers("since", timed ? request.series.size() : 0,
                                    "one column for each series of an axis of time, else absent");
  }
  return fields.finish(std::move(request));
}

Answer charts(const Request& request, Context& context) {
  const auto wanted = TRY_PARSED(parse_chart_request(request.body));
  return binary_response("application/x-corral-chart",
                         query::encode_chart(TRY(query::make_chart(context.reader, wanted))));
}

}  // namespace corral::server::api
