// The body of POST /charts. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <string_view>

#include "query/chart/chart.h"
#include "server/api/request_fields.h"

namespace corral::server::api {

Parsed<query::ChartRequest> parse_chart_request(std::string_view text);

}  // namespace corral::server::api
