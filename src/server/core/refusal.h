// Refusals before a handler is called, in the form of the interface that the path belongs to,
// because MLflow's clients look for "error_code" and ours for "error". Pure, any thread.
#pragma once

#include <string_view>

#include "core/result.h"
#include "server/core/http_types.h"

namespace corral::server {

// `field`: the invalid header or parameter, included if the form has a place for it.
Response refusal(const Request& request, const Error& error, std::string_view field = {});

}  // namespace corral::server
