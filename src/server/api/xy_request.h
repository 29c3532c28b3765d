// The body of POST /xy. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <string_view>

#include "query/chart/xy.h"
#include "server/api/request_fields.h"

namespace corral::server::api {

Parsed<query::XyRequest> parse_xy_request(std::string_view text);

}  // namespace corral::server::api
