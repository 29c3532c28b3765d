// Which run's artifact a request to the proxy of artifacts names. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/ids.h"
#include "http/request.h"

namespace corral::run {

// "<folder>/<run>/artifacts/<inside>", as runs' artifacts are placed unless somebody chose another
// place.
struct ArtifactPlace {
  RunId run;
  std::string inside;  // decoded; empty: all of them
};
std::optional<ArtifactPlace> artifact_place(const http::Request& request);

// The same request for what lies below `uri` instead; nothing changes for a place that is not the
// proxy's.
void move_artifact(http::Request& request, std::string_view uri);

}  // namespace corral::run
