// Routes of MLflow's interface: /api/{2.0,3.0}/... and /ajax-api/{2.0,3.0}/..., which is the same.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "compat/mlflow/api/call.h"

namespace corral::server::mlflow {

struct Rpc {
  Method method;
  std::string_view path;  // behind the prefix: "/2.0/mlflow/runs/get", with {names} as routes have
  Body (*call)(Message& in, Context& context) = nullptr;
  Response (*raw)(const Request& request, Context& context) = nullptr;  // instead of `call`
  Response (*stream)(Message& in, Context& context) = nullptr;          // likewise
};
std::span<const Rpc> rpcs();

// The error of a request that no call takes. door::owns() its path.
std::optional<Response> no_rpc(const Request& request);

// True if the body is a file, of any content. door::owns() the path.
bool takes_file(const Request& request);

// The answer, or an error of MLflow's form for unknown paths and methods. door::owns() the path.
Response dispatch(Request request, Context& context);

}  // namespace corral::server::mlflow
