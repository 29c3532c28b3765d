// The body of POST /points. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "query/export/read.h"
#include "server/api/request_fields.h"

namespace corral::server::api {

inline constexpr std::size_t kMostReadRuns = 1000;
inline constexpr std::size_t kMostReadMetrics = 1000;

// Runs are as people write them.
struct PointsRequest {
  std::vector<std::string> runs;
  query::ReadRequest read;  // without runs
};
Parsed<PointsRequest> parse_points_request(std::string_view text);

}  // namespace corral::server::api
