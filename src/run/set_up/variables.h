// Variables: selects the environment variables that are recorded with a run: those of frameworks
// and launchers that affect a training. A variable whose name hints at a secret is never recorded;
// secrets within a value are masked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run/set_up/secrets.h"

namespace corral::run::set_up {

bool is_recorded(std::string_view variable);

// Returns the recorded ones of the entries "NAME=value", one in each line, in order of their names;
// long values are cut.
std::string recorded_variables(const std::vector<std::string>& environment, Mask& mask);

}  // namespace corral::run::set_up
