// A build without compat/: no path belongs to another interface.
#include "server/core/door.h"

namespace corral::server::door {

std::unique_ptr<State> open(store::Store&, const store::Reader&) { return nullptr; }
std::span<const Route> routes() { return {}; }
bool owns(std::string_view) { return false; }
Response dispatch(Request request, Context&) {
  return error_response({Code::kNotFound, "no route " + request.path});
}
std::optional<Role> role_for(const Request&) { return std::nullopt; }
std::optional<Response> no_route(const Request&) { return std::nullopt; }
Response refusal(const Request&, const Error& error) { return error_response(error); }
bool is_quick(const Request&) { return false; }
bool takes_file(const Request&) { return false; }
Result<> on_artifact(Context&, store::artifacts::ArtifactStore&, std::string_view) { return {}; }
Result<> check_uploads(Context&, RunId, std::vector<std::string>&) { return {}; }

}  // namespace corral::server::door
