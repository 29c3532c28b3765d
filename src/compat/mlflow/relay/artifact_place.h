// Finds the run and the path in a request to the artifact proxy. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/ids.h"
#include "http/request.h"

namespace corral::run {

// "<folder>/<run>/artifacts/<inside>": the default location of a run's artifacts.
struct ArtifactPlace {
  RunId run;
  std::string inside;  // decoded; empty: all of them
};
std::optional<ArtifactPlace> artifact_place(const http::Request& request);

// Redirects the request to the same path below `uri`; does nothing if `uri` is not the proxy's.
void move_artifact(http::Request& request, std::string_view uri);

}  // namespace corral::run
