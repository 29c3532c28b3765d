// Compares a chart of a series with its points.
#pragma once

#include <string>
#include <vector>

#include "store/faults/script.h"
#include "store/store.h"

namespace corral::store::faults {

// Asks for the values of the series in a random range at a random width. Returns the problem of the
// answer; empty if it is right.
std::string zoom_problem(Store& store, const Series& series, const std::vector<ScriptPoint>& points,
                         Random& random);

}  // namespace corral::store::faults
