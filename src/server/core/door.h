// The one door between the server and other tools' interfaces (compat/: MLflow's and radT's).
//
// compat/door.cpp implements it; a build without compat (CORRAL_COMPAT=OFF) links no_door.cpp
// instead, which owns no path. All functions may be called from any thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "server/core/context.h"
#include "server/core/http_types.h"
#include "server/core/router.h"

namespace corral::server::door {

// Everything the other interfaces keep for one server, destroyed before its store.
class State {
 public:
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  virtual ~State() = default;
};
std::unique_ptr<State> open(store::Store& store, const store::Reader& reader);

// Routes of the server's table that belong to other interfaces.
std::span<const Route> routes();

// True for a path (encoded as sent) below one of their prefixes: dispatch() answers it instead of
// the table, and errors have their form.
bool owns(std::string_view path);
// The next six are only for a request whose path owns() is true for.
Response dispatch(Request request, Context& context);
// As server::role_for().
std::optional<Role> role_for(const Request& request);
// The error of a request without a route in dispatch(); nullopt if a route exists.
std::optional<Response> no_route(const Request& request);
Response refusal(const Request& request, const Error& error);
// True if it logs into a run, as trainings do all the time (http::HttpHandlers::is_quick).
bool is_quick(const Request& request);
// True if the body is a file, of any content.
bool takes_file(const Request& request);

// Called when an artifact is stored, before its upload is answered: files that hold spans become
// phases. An error says that the phases could not be stored; the client sends the file again.
Result<> on_artifact(Context& context, store::artifacts::ArtifactStore& store,
                     std::string_view path);
// Appends the problems of phases that other clients uploaded for a run.
Result<> check_uploads(Context& context, RunId run, std::vector<std::string>& problems);

}  // namespace corral::server::door
