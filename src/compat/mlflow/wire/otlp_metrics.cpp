#include "compat/mlflow/wire/otlp_metrics.h"

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compat/mlflow/wire/otlp_parts.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

using codec::ProtoField;
using codec::ProtoWire;
using otlp::Checks;
using otlp::each_field;
using otlp::FieldNumber;
using otlp::Fields;
using otlp::is_bytes;

constexpr std::uint64_t kTemporalityDelta = 1;
constexpr std::uint64_t kFlagNoValue = 1;

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
  std::vector<MetricPoint> points{};
};

constexpr std::string_view kCountEnding = "_count";

// The units of OTLP are those of UCUM, where "1" is none and braces are a remark.
std::string_view plain_unit(std::string_view unit) {
  if (unit == "1" || unit.starts_with('{')) return {};
  return unit == "By" ? "B" : unit;
}

constexpr std::size_t kValueBytes = 32;

std::size_t value_memory(const Json& value) {
  std::size_t bytes = kValueBytes;
  if (const auto* text = value.as_string()) bytes += text->size();
  if (const auto* items = value.as_array())
    for (const Json& item : *items) bytes += value_memory(item);
  if (const auto* members = value.as_object())
    for (const auto& [key, member] : *members) bytes += key.size() + value_memory(member);
  return bytes;
}

class Numbers {
 public:
  Numbers(const MetricParts& metric, Checks& checks, std::vector<OtlpNumber>& out)
      : metric_(metric), checks_(checks), out_(out) {}

  void add(const MetricPoint& point) {
    if ((point.flags & kFlagNoValue) != 0) return;
    copy_ = metric_.name.size() + metric_.unit.size() + mlflow::memory_of(point.attributes);
    const bool delta = metric_.temporality == kTemporalityDelta;
    // A sum that may fall is a level: how long a queue is.
    const auto kind =
        metric_.is_sum && metric_.monotonic ? metric::Kind::kCounter : metric::Kind::kGauge;
    if (point.value)
      put(point, "", {.kind = kind, .delta = metric_.is_sum && delta, .value = *point.value});
    if (point.count) {
      put(point, kCountEnding,
          {.kind = metric::Kind::kCounter,
           .delta = delta,
           .value = static_cast<double>(*point.count)});
    }
    if (point.count && point.sum)
      put(point, "_sum", {.kind = metric::Kind::kCounter, .delta = delta, .value = *point.sum});
    for (const auto& [quantile, value] : point.quantiles) {
      OtlpNumber number{.value = value};
      number.attributes.emplace_back("quantile", fmt::format("{}", quantile));
      put(point, "", std::move(number));
    }
  }

 private:
  void put(const MetricPoint& point, std::string_view ending, OtlpNumber number) {
    if (out_.size() >= kOtlpNumbers)
      checks_.wrong(Code::kTooLarge, "more than 100,000 numbers in one request");
    // A copy for each: few points with many attributes and quantiles must not become a large
    // memory.
    for (std::size_t i = 0; i < point.attributes.size(); ++i) checks_.count_value(0);
    if (!checks_.count_copy(copy_)) return;
    number.name = metric_.name;
    number.name += ending;
    if (ending != kCountEnding) number.unit = plain_unit(metric_.unit);
    number.attributes.insert(number.attributes.begin(), point.attributes.begin(),
                             point.attributes.end());
    number.time_ns = point.time_ns;
    out_.push_back(std::move(number));
  }

  const MetricParts& metric_;
  Checks& checks_;
  std::vector<OtlpNumber>& out_;
  std::size_t copy_ = 0;  // bytes that each number of the point repeats
};

// Appends the metric's numbers.
void add_numbers(const MetricParts& metric, Checks& checks, std::vector<OtlpNumber>& out) {
  Numbers numbers(metric, checks, out);
  for (const MetricPoint& point : metric.points) {
    if (!checks.ok()) return;
    numbers.add(point);
  }
}

// ---- JSON

enum class Form { kNumber, kHistogram, kSummary };

MetricPoint read_point(const Fields& in, Form form) {
  MetricPoint point;
  point.attributes = in.attributes();
  point.time_ns = in.time("time_unix_nano", "timeUnixNano");
  point.flags = in.number("flags");
  if (form == Form::kNumber) {
    if (in.find("as_double", "asDouble") != nullptr) point.value = in.real("as_double", "asDouble");
    if (in.find("as_int", "asInt") != nullptr)
      point.value = static_cast<double>(in.signed_number("as_int", "asInt"));
    return point;
  }
  point.count = in.number("count");
  if (form == Form::kSummary || in.find("sum") != nullptr) point.sum = in.real("sum");
  if (form != Form::kSummary) return point;
  in.each("quantile_values", "quantileValues", [&](const Fields& pair) {
    if (in.checks.count_value(0))
      point.quantiles.emplace_back(pair.real("quantile"), pair.real("value"));
  });
  return point;
}

// A number, or the name as "AGGREGATION_TEMPORALITY_DELTA".
std::uint64_t temporality(const Fields& in) {
  const Json* value = in.find("aggregation_temporality", "aggregationTemporality");
  if (value == nullptr) return 0;
  if (value->as_int() != nullptr)
    return in.number("aggregation_temporality", "aggregationTemporality");
  return in.text("aggregation_temporality", "aggregationTemporality") ==
                 "AGGREGATION_TEMPORALITY_DELTA"
             ? kTemporalityDelta
             : 0;
}

void read_points(const Fields& in, Form form, MetricParts& metric) {
  if (in.object.as_object() == nullptr) return in.checks.malformed();
  metric.temporality = temporality(in);
  if (const Json* monotonic = in.find("is_monotonic", "isMonotonic")) {
    if (monotonic->as_bool() == nullptr) return in.checks.malformed();
    metric.monotonic = *monotonic->as_bool();
  }
  in.each("data_points", "dataPoints", [&](const Fields& item) {
    if (in.checks.count_value(0)) metric.points.push_back(read_point(item, form));
  });
}

MetricParts read_metric(const Fields& in) {
  MetricParts metric{.name = in.text("name"), .unit = in.text("unit")};
  metric.is_sum = in.find("sum") != nullptr;
  const auto points = [&](Form form, std::string_view declared, std::string_view name = {}) {
    if (const Json* kind = in.find(declared, name))
      read_points(Fields{*kind, in.checks}, form, metric);
  };
  points(Form::kNumber, "gauge");
  points(Form::kNumber, "sum");
  points(Form::kHistogram, "histogram");
  points(Form::kHistogram, "exponential_histogram", "exponentialHistogram");
  points(Form::kSummary, "summary");
  return metric;
}

OtlpNumbers read_resource_metrics(const Fields& in) {
  OtlpNumbers out;
  if (const auto resource = in.within("resource")) {
    if (resource->object.as_object() == nullptr) in.checks.malformed();
    out.resource = resource->attributes();
  }
  in.each("scope_metrics", "scopeMetrics", [&](const Fields& scope) {
    scope.each("metrics", {}, [&](const Fields& metric) {
      if (in.checks.count_value(0)) add_numbers(read_metric(metric), in.checks, out.numbers);
    });
  });
  return out;
}

// ---- protobuf

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

std::pair<double, double> read_quantile(std::string_view message, Checks& checks) {
  std::pair<double, double> out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.is(kQuantile, ProtoWire::kFixed64)) out.first = field.real();
    if (field.is(kQuantileValue, ProtoWire::kFixed64)) out.second = field.real();
  });
  return out;
}

void read_fixed_field(const ProtoField& field, const PointForm& form, Checks& checks,
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

MetricPoint read_point(std::string_view message, const PointForm& form, Checks& checks) {
  MetricPoint point;
  // A message leaves out zeros.
  if (!form.number) point.count = 0;
  if (form.summary) point.sum = 0;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.wire == ProtoWire::kFixed64) read_fixed_field(field, form, checks, point);
    if (field.is(form.flags, ProtoWire::kVarint)) point.flags = field.value;
    if (is_bytes(field, form.attributes))
      point.attributes.push_back(otlp::key_value(field.bytes, checks, 0));
    if (form.summary && is_bytes(field, kQuantiles) && checks.count_value(0))
      point.quantiles.push_back(read_quantile(field.bytes, checks));
  });
  return point;
}

void read_points(std::string_view message, const PointForm& form, Checks& checks,
                 MetricParts& metric) {
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kDataPoints) && checks.count_value(0))
      metric.points.push_back(read_point(field.bytes, form, checks));
    if (field.is(kTemporality, ProtoWire::kVarint)) metric.temporality = field.value;
    if (field.is(kMonotonic, ProtoWire::kVarint)) metric.monotonic = field.value != 0;
  });
}

MetricParts read_metric(std::string_view message, Checks& checks) {
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

OtlpNumbers read_resource_metrics(std::string_view message, Checks& checks) {
  OtlpNumbers out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kResource)) otlp::read_resource(field.bytes, checks, out.resource);
    if (!is_bytes(field, kScopeMetrics)) return;
    each_field(field.bytes, checks, [&](const ProtoField& part) {
      if (is_bytes(part, kMetrics) && checks.count_value(0))
        add_numbers(read_metric(part.bytes, checks), checks, out.numbers);
    });
  });
  return out;
}

}  // namespace

std::size_t memory_of(const SpanAttributes& attributes) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : attributes) bytes += key.size() + value_memory(value);
  return bytes;
}

Result<std::vector<OtlpNumbers>> parse_otlp_metrics_json(std::string_view body) {
  Checks checks;
  std::vector<OtlpNumbers> out;
  otlp::read_json(body, checks, [&](const Fields& in) {
    in.each("resource_metrics", "resourceMetrics", [&](const Fields& item) {
      if (checks.count_value(0)) out.push_back(read_resource_metrics(item));
    });
  });
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return out;
}

Result<std::vector<OtlpNumbers>> parse_otlp_metrics_protobuf(std::string_view body) {
  Checks checks;
  std::vector<OtlpNumbers> out;
  each_field(body, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kResourceMetrics) && checks.count_value(0))
      out.push_back(read_resource_metrics(field.bytes, checks));
  });
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return out;
}

}  // namespace corral::mlflow
