// The body of POST /charts. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "query/chart.h"

namespace corral::server::api {

struct ChartRequestError {
  Error error;
  std::string field;                    // empty: the text is no JSON object
  std::optional<std::size_t> position;  // byte in the text
};
tl::expected<query::ChartRequest, ChartRequestError> parse_chart_request(std::string_view text);

}  // namespace corral::server::api
