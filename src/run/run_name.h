// Run name: names for runs that the user did not name.
#pragma once

#include <string>

#include "core/ids.h"

namespace corral::run {

// Returns two words and a number, which distinguish runs in a list; not unique.
std::string make_run_name(RunId run);

}  // namespace corral::run
