// Lines of charts: one for each series or group.
#include "analyze/line.h"

#include "server/api/handlers.h"
#include "server/api/line_request.h"
#include "server/api/write.h"

namespace corral::server::api {

Response lines(const Request& request, Context& context) {
  const auto wanted = parse_line_request(request.body);
  if (!wanted) return bad_body(wanted.error());
  const Result<analyze::Lines> answer = analyze::make_lines(context.reader, *wanted);
  if (!answer) return error_response(answer.error());
  Response response;
  response.headers = {{"Content-Type", "application/x-corral-lines"},
                      {"Cache-Control", "no-store"}};
  response.body = analyze::encode_lines(*answer);
  return response;
}

}  // namespace corral::server::api
