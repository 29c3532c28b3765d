// The bodies of POST /sparklines and POST /summaries. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "query/sparkline.h"
#include "server/api/request_fields.h"
#include "store/search/run_summaries.h"

namespace corral::server::api {

inline constexpr std::size_t kMostSummaryRuns = 10'000;

enum class SummaryValue : std::uint8_t { kLast, kMean, kMin, kMax, kCount };

struct SummaryRequest {
  store::tracking::RunScope scope;  // either runs or experiments
  store::tracking::SummaryQuestion question;
  std::vector<SummaryValue> values;
};

Parsed<query::SparklineRequest> parse_sparklines(std::string_view text);
Parsed<SummaryRequest> parse_summaries(std::string_view text);

std::string_view summary_value_name(SummaryValue value);
std::optional<SummaryValue> parse_summary_value(std::string_view name);
// Not of kCount.
std::optional<double> value_of(const store::tracking::MetricSummary& summary, SummaryValue value);

}  // namespace corral::server::api
