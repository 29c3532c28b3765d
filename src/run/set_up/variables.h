// Which environment variables are recorded with a run: those of the frameworks and of launchers
// that change what a training does. Never one whose name hints at a secret; secrets within a value
// are masked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run/set_up/secrets.h"

namespace corral::run::set_up {

bool is_recorded(std::string_view variable);

// Those of the entries "NAME=value", one a line, in order of their names; long values are cut.
std::string recorded_variables(const std::vector<std::string>& environment, Mask& mask);

}  // namespace corral::run::set_up
