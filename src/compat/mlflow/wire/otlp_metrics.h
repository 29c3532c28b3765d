// OTLP's ExportMetricsServiceRequest (https://opentelemetry.io/docs/specs/otlp/): protobuf or JSON
// into numbers.
//
// Gauges and sums are numbers. A histogram, exponential or not, becomes its count and its sum
// ("x_count", "x_sum"), a summary its quantiles, too (label `quantile`), as Prometheus names them.
// Buckets, min and max, exemplars, and points that are flagged as having no value are ignored. A
// request is taken whole or not at all. The bounds are those of spans (otlp.h), and 100,000
// numbers. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compat/mlflow/wire/span.h"
#include "metric/catalogue.h"

namespace corral::mlflow {

struct OtlpNumber {
  std::string name = {};  // valid UTF-8; may be empty
  std::string unit = {};
  metric::Kind kind = metric::Kind::kGauge;
  bool delta = false;  // the increase since the previous point, not a total
  SpanAttributes attributes = {};
  std::int64_t time_ns = 0;  // UTC; 0: missing
  double value = 0;
};

// Numbers of one process or service.
struct OtlpNumbers {
  SpanAttributes resource;
  std::vector<OtlpNumber> numbers;
};

inline constexpr std::size_t kOtlpNumbers = 100'000;

// About the bytes of a copy.
std::size_t memory_of(const SpanAttributes& attributes);

// kInvalidArgument: the body is not of that form; kUnprocessable: a time that cannot be; kTooLarge.
Result<std::vector<OtlpNumbers>> parse_otlp_metrics_protobuf(std::string_view body);
// 64-bit numbers as numbers or strings; names of fields in either spelling.
Result<std::vector<OtlpNumbers>> parse_otlp_metrics_json(std::string_view body);

}  // namespace corral::mlflow
