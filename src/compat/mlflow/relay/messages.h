// The relay's messages: answers that it makes itself, and the run and the path in requests to the
// artifact proxy. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "compat/mlflow/wire/error.h"
#include "core/ids.h"
#include "http/request.h"
#include "http/response.h"

namespace corral::run {

// ---- answers

// "Failed Dependency": the request is fine, but the server that it needs is unreachable. MLflow's
// clients retry 408, 429 and most 5xx for minutes; they report this one at once.
inline constexpr int kNoServer = 424;

http::Response refused(const mlflow::ApiError& error);
// An answer; errors are answered as refused().
using Reply = mlflow::Answer<http::Response>;

http::Response no_server(const Error& why);
http::Response empty_answer();

// Replaces the experiment id in an answer of runs/get, unless `experiment` is empty.
http::Response with_experiment(std::string body, const std::string& experiment);

// Returns the artifact URI in an answer of runs/get.
std::string parse_artifact_uri(std::string_view body);

// Returns an id that no server assigns; equal names get equal ids.
std::string provisional_id(std::string_view experiment_name);
http::Response experiment_answer(const std::string& id, const std::string& name);

// ---- requests to the artifact proxy

// "<folder>/<run>/artifacts/<inside>": the default location of a run's artifacts.
struct ArtifactPlace {
  RunId run;
  std::string inside;  // decoded; empty: all of them
};
std::optional<ArtifactPlace> artifact_place(const http::Request& request);

// Redirects the request to the same path below `uri`; does nothing if `uri` is not the proxy's.
void move_artifact(http::Request& request, std::string_view uri);

}  // namespace corral::run
