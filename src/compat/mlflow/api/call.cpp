#include "compat/mlflow/api/call.h"

#include "core/text.h"

namespace corral::server::mlflow {

Response answer(const ApiError& error) {
  return json_response(corral::mlflow::to_json(error), corral::mlflow::http_status(error.code));
}

Response answer(Body body) { return body ? json_response(*std::move(body)) : answer(body.error()); }

Answer<> check_content_type(const Request& request) {
  const std::string_view type = request.header("content-type");
  if (request.body.empty() || trim(type.substr(0, type.find(';'))) == "application/json") return {};
  return invalid("Bad Request. Content-Type must be one of ['application/json'].");
}

Answer<> all_read(const Message& in) {
  if (in.error()) return tl::unexpected(*in.error());
  return {};
}

}  // namespace corral::server::mlflow
