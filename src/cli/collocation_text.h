// The answer of GET /{plans,workloads,experiments}/{id}/collocation as a person reads it.
#pragma once

#include <string>

#include "cli/text_page.h"
#include "core/json.h"

namespace corral::cli {

void print_collocation(const TextPage& page, const Json& found);
// "2A+B", with parts of the hardware "2A (1g.5gb)+B (3g.20gb)".
std::string jobs_text(const Json::Array& jobs, const Json::Array& places = {});

}  // namespace corral::cli
