// Differences between the set-ups of two runs, from the server's answers about them. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace corral::cli {

struct Difference {
  std::string part;  // "run", "param", "tag", "code", "package", "variable", "environment",
                     // "set-up", "at start"
  std::string key;
  std::optional<std::string> a, b;  // nullopt: that run has none
  bool operator==(const Difference&) const = default;
};

// By part, then by key. A run's results (its end, its cost, its outcome) are no part of its set-up.
// The list of kept code (`corral/code.json`) is the member "code" of a run, which may be missing.
std::vector<Difference> compare_runs(const Json& a, const Json& b);

}  // namespace corral::cli
