// The answer of POST /compare as a person reads it.
#pragma once

#include <string>

#include "cli/text_page.h"
#include "core/json.h"

namespace corral::cli {

// True if the first group or all others have no value at all, so that there was nothing to compare.
bool compares_nothing(const Json& found);
void print_comparison(const TextPage& page, const Json& found);
// A line for each comparison.
std::string comparison_csv(const Json& found);

}  // namespace corral::cli
