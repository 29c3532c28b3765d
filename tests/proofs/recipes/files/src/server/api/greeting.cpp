// A greeting: GET /api/corral/v1/greeting.
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {

Answer greeting(const Request&, Context& context) {
  return object_response(
      [&](JsonWriter& json) { json.member("greeting", "hello from " + context.facts.version); });
}

}  // namespace corral::server::api
