// Names of runs that nobody named.
#pragma once

#include <string>

#include "core/ids.h"

namespace corral::run {

// Two words and a number that tell runs apart in a list; not unique.
std::string make_run_name(RunId run);

}  // namespace corral::run
