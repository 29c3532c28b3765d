#include "compat/mlflow/wire/otlp_fields.h"
#include "compat/mlflow/wire/otlp_metrics_parts.h"
#include "compat/mlflow/wire/otlp_values.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

using codec::ProtoField;
using codec::ProtoWire;
using otlp::each_field;
using otlp::FieldNumber;
using otlp::is_bytes;
using otlp::MetricParts;
using otlp::MetricPoint;

// ExportMetricsServiceRequest, ResourceMetrics, ScopeMetrics
constexpr FieldNumber kResourceMetrics = 1, kScopeMetrics = 2, kMetrics = 2;
// Metric
constexpr FieldNumber kName = 1, kUnit = 3, kGauge = 5, kSum = 7, kHistogram = 9,
                      kExponentialHistogram = 10, kSummary = 11;
// Gauge, Sum, Histogram, ExponentialHistogram, Summary
constexpr FieldNumber kDataPoints = 1, kTemporality = 2, kMonotonic = 3;
// Every kind of point
constexpr FieldNumber kTime = 3;
constexpr FieldNumber kDouble = 4, kInteger = 6;  // NumberDataPoint
constexpr FieldNumber kCount = 4, kSumOf = 5;     // the others
constexpr FieldNumber kQuantiles = 6;             // SummaryDataPoint
constexpr FieldNumber kQuantile = 1, kQuantileValue = 2;

// The kinds of points differ in these.
struct PointForm {
  FieldNumber attributes;
  FieldNumber flags;
  bool number = false;   // NumberDataPoint
  bool summary = false;  // SummaryDataPoint
};

constexpr PointForm kNumberForm{.attributes = 7, .flags = 8, .number = true};
constexpr PointForm kHistogramForm{.attributes = 9, .flags = 10};
constexpr PointForm kExponentialForm{.attributes = 1, .flags = 10};
constexpr PointForm kSummaryForm{.attributes = 7, .flags = 8, .summary = true};

std::pair<double, double> read_quantile(std::string_view message, OtlpChecks& checks) {
  std::pair<double, double> out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.is(kQuantile, ProtoWire::kFixed64)) out.first = field.real();
    if (field.is(kQuantileValue, ProtoWire::kFixed64)) out.second = field.real();
  });
  return out;
}

void take_fixed(const ProtoField& field, const PointForm& form, OtlpChecks& checks,
                MetricPoint& point) {
  if (field.number == kTime) point.time_ns = checks.time(field.value);
  if (form.number) {
    if (field.number == kDouble) point.value = field.real();
    if (field.number == kInteger)
      point.value = static_cast<double>(static_cast<std::int64_t>(field.value));
    return;
  }
  if (field.number == kCount) point.count = field.value;
  if (field.number == kSumOf) point.sum = field.real();
}

MetricPoint read_point(std::string_view message, const PointForm& form, OtlpChecks& checks) {
  MetricPoint point;
  // A message leaves out zeros.
  if (!form.number) point.count = 0;
  if (form.summary) point.sum = 0;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.wire == ProtoWire::kFixed64) take_fixed(field, form, checks, point);
    if (field.is(form.flags, ProtoWire::kVarint)) point.flags = field.value;
    if (is_bytes(field, form.attributes))
      point.attributes.push_back(otlp::key_value(field.bytes, checks, 0));
    if (form.summary && is_bytes(field, kQuantiles) && checks.count_value(0))
      point.quantiles.push_back(read_quantile(field.bytes, checks));
  });
  return point;
}

void read_points(std::string_view message, const PointForm& form, OtlpChecks& checks,
                 MetricParts& metric) {
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kDataPoints) && checks.count_value(0))
      metric.points.push_back(read_point(field.bytes, form, checks));
    if (field.is(kTemporality, ProtoWire::kVarint)) metric.temporality = field.value;
    if (field.is(kMonotonic, ProtoWire::kVarint)) metric.monotonic = field.value != 0;
  });
}

MetricParts read_metric(std::string_view message, OtlpChecks& checks) {
  MetricParts metric;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kName)) metric.name = to_utf8(field.bytes);
    if (is_bytes(field, kUnit)) metric.unit = to_utf8(field.bytes);
    if (is_bytes(field, kSum)) metric.is_sum = true;
    if (is_bytes(field, kGauge) || is_bytes(field, kSum))
      read_points(field.bytes, kNumberForm, checks, metric);
    if (is_bytes(field, kHistogram)) read_points(field.bytes, kHistogramForm, checks, metric);
    if (is_bytes(field, kExponentialHistogram))
      read_points(field.bytes, kExponentialForm, checks, metric);
    if (is_bytes(field, kSummary)) read_points(field.bytes, kSummaryForm, checks, metric);
  });
  return metric;
}

OtlpNumbers read_resource_metrics(std::string_view message, OtlpChecks& checks) {
  OtlpNumbers out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kResource)) {
      each_field(field.bytes, checks, [&](const ProtoField& part) {
        if (is_bytes(part, otlp::kResourceAttributes))
          out.resource.push_back(otlp::key_value(part.bytes, checks, 0));
      });
    }
    if (!is_bytes(field, kScopeMetrics)) return;
    each_field(field.bytes, checks, [&](const ProtoField& part) {
      if (is_bytes(part, kMetrics) && checks.count_value(0))
        otlp::add_numbers(read_metric(part.bytes, checks), checks, out.numbers);
    });
  });
  return out;
}

}  // namespace

Result<std::vector<OtlpNumbers>> parse_otlp_metrics_protobuf(std::string_view body) {
  OtlpChecks checks;
  std::vector<OtlpNumbers> out;
  each_field(body, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kResourceMetrics) && checks.count_value(0))
      out.push_back(read_resource_metrics(field.bytes, checks));
  });
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return out;
}

}  // namespace corral::mlflow
