// Routes of MLflow's interface: /api/{2.0,3.0}/... and /ajax-api/{2.0,3.0}/..., which is the same.
#pragma once

#include <optional>

#include "compat/mlflow/api/call.h"

namespace corral::server::mlflow {

// The MLflow release of the emulated interface.
Response mlflow_version(const Request& request, Context& context);

// Returns the error for an unknown path or method, if it is one. door::owns() the path.
std::optional<Response> no_rpc(const Request& request);

// True if the body is a file, of any content. door::owns() the path.
bool takes_file(const Request& request);

// Returns the answer; unknown paths and methods get an error in MLflow's form. door::owns() the
// path.
Response dispatch(Request request, Context& context);

}  // namespace corral::server::mlflow
