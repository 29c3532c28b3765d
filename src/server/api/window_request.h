// The body of POST /windows. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <string_view>
#include <vector>

#include "query/series/window.h"
#include "server/api/request_fields.h"

namespace corral::server::api {

// The mode decides the channel of each series once their kinds are known.
struct WindowQuestion {
  query::WindowRequest request;
  query::ChartMode mode = query::ChartMode::kAuto;
  std::optional<query::IntegralRule> rule = {};  // left out: backward for rates, else trapezoid
};
Parsed<WindowQuestion> parse_window_request(std::string_view text);

}  // namespace corral::server::api
