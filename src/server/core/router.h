// Routes: every path the server answers, in one table (routes.cpp), and the search for the handler
// of a request.
//
// Handlers are plain synchronous functions: Response handle(const Request&, Context&). HEAD goes to
// the GET handler; the transport drops the body. Adding a route = one line in the table and one
// function in api/.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>

#include "core/role.h"
#include "server/core/context.h"
#include "server/core/http_types.h"

namespace corral::server {

using Handle = Response (*)(const Request& request, Context& context);

struct Route {
  Method method;
  std::string_view pattern;  // "/api/corral/v1/runs/{run}/logs"; a last segment "{name...}" takes
                             // the rest of the path, even none
  Handle handle;
  std::string_view summary;  // one line, for OpenAPI; empty: not part of the API
  // Asked for where the store has users; nullopt: kReader for GET, kWriter for the other methods.
  std::optional<Role> needs = std::nullopt;
};

// The route, for those who have that role.
template <class AnyRoute>
constexpr AnyRoute needing(Role role, AnyRoute route) {
  route.needs = role;
  return route;
}
template <class AnyRoute>
constexpr Role role_for(const AnyRoute& route) {
  return route.needs.value_or(route.method == Method::kGet ? Role::kReader : Role::kWriter);
}

std::span<const Route> routes();

// The role that a request needs; nullopt: it has no route.
std::optional<Role> role_for(const Request& request, std::span<const Route> table = routes());

// The answer to a request without a route: 404 or 405; nothing if a route exists.
std::optional<Response> no_route(const Request& request, std::span<const Route> table = routes());

// Finds the route, fills request.params and calls the handler; requests without a route are
// answered with 404 or 405, and those that name what their user does not see are refused
// (unseen.h).
Response route(Request request, Context& context, std::span<const Route> table = routes());

// Its body is JSON, if it has one: not frames, a file or protobuf.
bool reads_json(const Request& request);

// Its handler unpacks the body.
bool unpacks(const Request& request);

// The answer to a request that is refused before a handler is called, in the form of the interface
// that the path belongs to: MLflow's clients look for "error_code", ours for "error". `field`: the
// invalid header or parameter, included if the form has a place for it.
Response refusal(const Request& request, const Error& error, std::string_view field = {});

// 429: `what` was asked for too often.
Response too_many(const Request& request, std::string_view what, std::chrono::seconds wait);

// True if the pattern matches the path; sets `params`.
Result<bool> match(std::string_view pattern, std::string_view path, Pairs& params);

// OpenAPI 3.1 of the table.
std::string openapi(std::span<const Route> table, std::string_view version);

}  // namespace corral::server
