// A greeting: GET /api/corral/v1/greeting.
#include "core/json.h"
#include "server/api/handlers.h"

namespace corral::server::api {

Response greeting(const Request&, Context& context) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("greeting", "hello from " + context.facts.version).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
