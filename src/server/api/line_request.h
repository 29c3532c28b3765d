// The body of POST /lines. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <string_view>

#include "analyze/line.h"
#include "server/api/request_fields.h"

namespace corral::server::api {

Parsed<analyze::LineRequest> parse_line_request(std::string_view text);

}  // namespace corral::server::api
