// A metric over another.
#include "query/chart/xy.h"

#include "server/api/handlers.h"
#include "server/api/write.h"
#include "server/api/xy_request.h"

namespace corral::server::api {

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
