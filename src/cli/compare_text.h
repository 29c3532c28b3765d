// The answer of POST /compare as a person reads it.
#pragma once

#include "cli/text_page.h"
#include "core/json.h"

namespace corral::cli {

void print_comparison(const TextPage& page, const Json& found);

}  // namespace corral::cli
