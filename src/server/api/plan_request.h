// The body of PUT /plans/{id}: a scheduler's report about its plan. Pure; any bytes
// (fuzz/fuzz_request.cpp).
#pragma once

#include <string>
#include <string_view>

#include "server/api/request_fields.h"

namespace corral::server::api {

inline constexpr std::size_t kMostPlanRuns = 100'000;

// The summary of a plan for lists, as JSON; unknown members stay in the document and are no error.
Parsed<std::string> parse_plan(std::string_view text);

}  // namespace corral::server::api
