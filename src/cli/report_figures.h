// The figures of a report, made of an answer of POST /compare.
#pragma once

#include <optional>

#include "cli/figure.h"
#include "core/json.h"

namespace corral::cli {

// The value of each unit in the order of their starts, with the mean of each group over its own;
// crosses at the bottom have no value. nullopt: no unit has one.
std::optional<Figure> values_figure(const Json& comparison);
// The ratio of each group to the first one, with its interval, beside the bounds of the margin.
// nullopt: there is none.
std::optional<Figure> ratios_figure(const Json& comparison);

}  // namespace corral::cli
