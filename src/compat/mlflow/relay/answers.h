// Answers that the relay makes itself. Pure.
#pragma once

#include <string>
#include <string_view>

#include "compat/mlflow/wire/error.h"
#include "http/response.h"

namespace corral::run {

// "Failed Dependency": the request is fine, the server that it needs is not there. MLflow's clients
// try 408, 429 and most of 5xx again, for minutes; this one they tell their caller.
inline constexpr int kNoServer = 424;

http::Response refused(const mlflow::ApiError& error);
http::Response no_server(const Error& why);
http::Response empty_answer();

// runs/get's answer with another experiment id in it, unless that is empty.
http::Response with_experiment(std::string body, const std::string& experiment);

// Where runs/get's answer says that the run's artifacts are.
std::string artifact_uri_of(std::string_view body);

// An id that no server gives, the same for the same name.
std::string provisional_id(std::string_view experiment_name);
http::Response experiment_answer(const std::string& id, const std::string& name);

}  // namespace corral::run
