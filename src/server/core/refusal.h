// Refusals before a handler was asked: in the words of the interface that the path
// belongs to, because MLflow's clients look for "error_code" and ours for "error". Pure, any
// thread.
#pragma once

#include <string_view>

#include "core/result.h"
#include "server/core/http_types.h"

namespace corral::server {

// `field`: the header or parameter that is wrong, where the form has room for it.
Response refusal(const Request& request, const Error& error, std::string_view field = {});

}  // namespace corral::server
