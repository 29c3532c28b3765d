// Turns a metric's points into numbers, for both forms of OTLP's metrics.
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

// A point of any kind; members that its kind does not have keep their defaults.
struct MetricPoint {
  SpanAttributes attributes;
  std::int64_t time_ns = 0;
  std::uint64_t flags = 0;
  std::optional<double> value;         // gauges and sums have one
  std::optional<std::uint64_t> count;  // histograms and summaries have one
  std::optional<double> sum;
  std::vector<std::pair<double, double>> quantiles;  // summaries: quantile, value
};

// A metric: points of one kind. They may come before or after the fields that hold for all of them.
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
