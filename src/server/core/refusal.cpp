#include "server/core/refusal.h"

#include "server/core/door.h"

namespace corral::server {

Response refusal(const Request& request, const Error& error, std::string_view field) {
  if (door::owns(request.path)) return door::refusal(request, error);
  return error_response(error, {.field = field, .position = std::nullopt});
}

}  // namespace corral::server
