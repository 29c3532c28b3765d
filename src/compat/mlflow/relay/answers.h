// Answers that the relay makes itself. Pure.
#pragma once

#include <string>
#include <string_view>

#include "compat/mlflow/wire/error.h"
#include "http/response.h"

namespace corral::run {

// "Failed Dependency": the request is fine, but the server that it needs is unreachable. MLflow's
// clients retry 408, 429 and most 5xx for minutes; they report this one at once.
inline constexpr int kNoServer = 424;

http::Response refused(const mlflow::ApiError& error);
http::Response no_server(const Error& why);
http::Response empty_answer();

// Replaces the experiment id in an answer of runs/get, unless `experiment` is empty.
http::Response with_experiment(std::string body, const std::string& experiment);

// Returns the artifact URI in an answer of runs/get.
std::string artifact_uri_of(std::string_view body);

// Returns an id that no server assigns; equal names get equal ids.
std::string provisional_id(std::string_view experiment_name);
http::Response experiment_answer(const std::string& id, const std::string& name);

}  // namespace corral::run
