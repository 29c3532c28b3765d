#include <array>

#include "compat/mlflow/wire/otlp_metrics_parts.h"
#include "compat/mlflow/wire/otlp_values.h"
#include "compat/mlflow/wire/span_fields.h"

namespace corral::mlflow {
namespace {

using otlp::MetricParts;
using otlp::MetricPoint;
using span_fields::each_object;
using span_fields::integer;
using span_fields::member;
using span_fields::text;
using span_fields::time;

enum class Form { kNumber, kHistogram, kSummary };

void read_quantiles(const Json& item, OtlpChecks& checks, MetricPoint& point) {
  each_object(member(item, "quantileValues", "quantile_values"), checks, [&](const Json& pair) {
    if (!checks.count_value(0)) return;
    const Json* quantile = member(pair, "quantile");
    const Json* value = member(pair, "value");
    point.quantiles.emplace_back(quantile != nullptr ? otlp::real(*quantile, checks) : 0,
                                 value != nullptr ? otlp::real(*value, checks) : 0);
  });
}

MetricPoint read_point(const Json& item, Form form, OtlpChecks& checks) {
  MetricPoint point;
  point.attributes = otlp::attributes(member(item, "attributes"), checks, 0);
  point.time_ns = time(member(item, "timeUnixNano", "time_unix_nano"), checks);
  if (const Json* flags = member(item, "flags"))
    point.flags = integer<std::uint64_t>(*flags, checks);
  if (form == Form::kNumber) {
    if (const Json* value = member(item, "asDouble", "as_double"))
      point.value = otlp::real(*value, checks);
    if (const Json* value = member(item, "asInt", "as_int"))
      point.value = static_cast<double>(integer<std::int64_t>(*value, checks));
    return point;
  }
  const Json* count = member(item, "count");
  point.count = count != nullptr ? integer<std::uint64_t>(*count, checks) : 0;
  if (form == Form::kSummary) point.sum = 0;
  if (const Json* sum = member(item, "sum")) point.sum = otlp::real(*sum, checks);
  if (form == Form::kSummary) read_quantiles(item, checks, point);
  return point;
}

// A number, or the name as "AGGREGATION_TEMPORALITY_DELTA".
std::uint64_t temporality(const Json* value, OtlpChecks& checks) {
  if (value == nullptr) return 0;
  if (value->as_int() != nullptr) return integer<std::uint64_t>(*value, checks);
  return text(value, checks) == "AGGREGATION_TEMPORALITY_DELTA" ? otlp::kTemporalityDelta : 0;
}

void read_points(const Json& kind, Form form, OtlpChecks& checks, MetricParts& metric) {
  if (kind.as_object() == nullptr) return checks.malformed();
  metric.temporality =
      temporality(member(kind, "aggregationTemporality", "aggregation_temporality"), checks);
  if (const Json* monotonic = member(kind, "isMonotonic", "is_monotonic")) {
    if (monotonic->as_bool() == nullptr) return checks.malformed();
    metric.monotonic = *monotonic->as_bool();
  }
  each_object(member(kind, "dataPoints", "data_points"), checks, [&](const Json& item) {
    if (checks.count_value(0)) metric.points.push_back(read_point(item, form, checks));
  });
}

MetricParts read_metric(const Json& item, OtlpChecks& checks) {
  MetricParts metric;
  metric.name = text(member(item, "name"), checks);
  metric.unit = text(member(item, "unit"), checks);
  if (const Json* kind = member(item, "gauge")) read_points(*kind, Form::kNumber, checks, metric);
  if (const Json* kind = member(item, "sum")) {
    metric.is_sum = true;
    read_points(*kind, Form::kNumber, checks, metric);
  }
  if (const Json* kind = member(item, "histogram"))
    read_points(*kind, Form::kHistogram, checks, metric);
  if (const Json* kind = member(item, "exponentialHistogram", "exponential_histogram"))
    read_points(*kind, Form::kHistogram, checks, metric);
  if (const Json* kind = member(item, "summary"))
    read_points(*kind, Form::kSummary, checks, metric);
  return metric;
}

OtlpNumbers read_resource_metrics(const Json& item, OtlpChecks& checks) {
  OtlpNumbers out;
  if (const Json* resource = member(item, "resource")) {
    if (resource->as_object() == nullptr) checks.malformed();
    out.resource = otlp::attributes(member(*resource, "attributes"), checks, 0);
  }
  each_object(member(item, "scopeMetrics", "scope_metrics"), checks, [&](const Json& scope) {
    each_object(member(scope, "metrics"), checks, [&](const Json& metric) {
      if (checks.count_value(0))
        otlp::add_numbers(read_metric(metric, checks), checks, out.numbers);
    });
  });
  return out;
}

}  // namespace

Result<std::vector<OtlpNumbers>> parse_otlp_metrics_json(std::string_view body) {
  const auto json = Json::parse(body);
  OtlpChecks checks;
  if (!json || json->as_object() == nullptr) checks.malformed();
  std::vector<OtlpNumbers> out;
  if (checks.ok()) {
    each_object(member(*json, "resourceMetrics", "resource_metrics"), checks,
                [&](const Json& item) {
                  if (checks.count_value(0)) out.push_back(read_resource_metrics(item, checks));
                });
  }
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return out;
}

}  // namespace corral::mlflow
