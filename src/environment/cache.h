// Built environments, kept by the hash of their inputs.
//
//   <cache>/<hash>/        the environment, in the place where it was built: they cannot be moved
//   <cache>/<hash>/.corral written last: what it was built from; without it the rest is remains
//   <cache>/<hash>.lock    flock of the one who builds
#pragma once

#include <functional>
#include <string>

#include "environment/environment.h"

namespace corral::environment {

struct Build {
  std::string key;                                      // hash of everything that `make` depends on
  std::string words;                                    // for people: "requirements.txt with uv"
  std::string made_from;                                // content of the stamp
  std::function<Result<>(const fs::path& place)> make;  // `place` does not exist yet
};

// Returns the finished environment's directory. Builds it unless it exists, and waits for another
// process that is building it. A build that fails or is cancelled leaves nothing behind.
Result<fs::path> build_once(const Build& build, const PrepareOptions& options);

}  // namespace corral::environment
