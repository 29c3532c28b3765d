// Chart columns.
#include "query/chart/chart.h"

#include "server/api/chart_request.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {

Response charts(const Request& request, Context& context) {
  const auto wanted = parse_chart_request(request.body);
  if (!wanted)
    return error_response(wanted.error().error, {wanted.error().field, wanted.error().position});
  const Result<query::Chart> chart = query::make_chart(context.reader, *wanted);
  if (!chart) return error_response(chart.error());
  Response response;
  response.headers = {{"Content-Type", "application/x-corral-chart"},
                      {"Cache-Control", "no-store"}};
  response.body = query::encode_chart(*chart);
  return response;
}

}  // namespace corral::server::api
