// Server-sent events.
#include "server/api/handlers.h"
#include "server/core/events.h"

namespace corral::server::api {

Response stream(const Request&, Context& context) {
  Response response;
  response.events = context.events.subscribe();
  if (!response.events)
    return error_response({Code::kUnavailable, "too many event streams are open"});
  response.headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}};
  return response;
}

}  // namespace corral::server::api
