// The answer of POST /compare as a person reads it.
#pragma once

#include <string>

#include "cli/text_page.h"
#include "core/json.h"

namespace corral::cli {

void print_comparison(const TextPage& page, const Json& found);
// A line for each comparison.
std::string comparison_csv(const Json& found);

}  // namespace corral::cli
