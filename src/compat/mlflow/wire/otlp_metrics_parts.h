// What both forms of OTLP's metrics share: how a metric's points become numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compat/mlflow/wire/otlp_metrics.h"
#include "compat/mlflow/wire/otlp_parts.h"

namespace corral::mlflow::otlp {

inline constexpr std::uint64_t kTemporalityDelta = 1;
inline constexpr std::uint64_t kFlagNoValue = 1;

// A point of any kind; what its kind does not have stays as it is.
struct MetricPoint {
  SpanAttributes attributes;
  std::int64_t time_ns = 0;
  std::uint64_t flags = 0;
  std::optional<double> value;         // of gauges and sums
  std::optional<std::uint64_t> count;  // of histograms and summaries
  std::optional<double> sum;
  std::vector<std::pair<double, double>> quantiles;  // of summaries: quantile, value
};

// A metric: points of one kind, which may stand before or behind what is said of all of them.
struct MetricParts {
  std::string name;
  std::string unit;
  bool is_sum = false;
  bool monotonic = false;
  std::uint64_t temporality = 0;
  std::vector<MetricPoint> points;
};

// Appends the metric's numbers.
void add_numbers(const MetricParts& metric, OtlpChecks& checks, std::vector<OtlpNumber>& out);

}  // namespace corral::mlflow::otlp
