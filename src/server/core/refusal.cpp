#include "server/core/refusal.h"

#include <algorithm>
#include <array>

#include "compat/mlflow/wire/error.h"

namespace corral::server {

bool speaks_mlflow(std::string_view path) {
  static constexpr std::array<std::string_view, 3> kPrefixes = {"/api/2.0/", "/api/3.0/",
                                                                "/ajax-api/"};
  return std::ranges::any_of(kPrefixes, [path](auto prefix) { return path.starts_with(prefix); });
}

Response refusal(const Request& request, const Error& error, std::string_view field) {
  if (!speaks_mlflow(request.path))
    return error_response(error, {.field = field, .position = std::nullopt});
  const corral::mlflow::ApiError api = corral::mlflow::api_error(error);
  return json_response(corral::mlflow::body_of(api), corral::mlflow::status_of(api.code));
}

}  // namespace corral::server
