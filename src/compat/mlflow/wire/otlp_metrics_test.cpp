#include "compat/mlflow/wire/otlp_metrics.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>

#include "codec/protobuf.h"

namespace corral::mlflow {
namespace {

using codec::ProtoWriter;
using Lines = std::vector<std::string>;

// "counter delta steps[rank=1] = 3 1/s @5", the resource's attributes first.
Lines lines_of(const Result<std::vector<OtlpNumbers>>& parsed) {
  if (!parsed) return {parsed.error().message};
  Lines lines;
  for (const OtlpNumbers& group : *parsed) {
    for (const OtlpNumber& n : group.numbers) {
      std::string labels;
      for (const auto* list : {&group.resource, &n.attributes}) {
        for (const auto& [key, value] : *list)
          labels += (labels.empty() ? "" : ",") + key + "=" + value.dump();
      }
      lines.push_back(fmt::format(
          "{}{} {}[{}] = {} {} @{}", n.kind == metric::Kind::kCounter ? "counter" : "gauge",
          n.delta ? " delta" : "", n.name, labels, n.value, n.unit, n.time_ns));
    }
  }
  return lines;
}

ProtoWriter attribute(std::string_view key, std::string_view text) {
  ProtoWriter value;
  value.bytes(1, text);
  ProtoWriter out;
  out.bytes(1, key).message(2, value);
  return out;
}

std::string request_of(const ProtoWriter& metric) {
  ProtoWriter scope;
  scope.message(2, metric);
  ProtoWriter resource;
  resource.message(1, attribute("service.name", "train"));
  ProtoWriter group;
  group.message(2, scope).message(1, resource);
  ProtoWriter out;
  out.message(1, group);
  return out.text();
}

// A metric of one point of that kind (5 gauge, 7 sum, 9 histogram, ...).
ProtoWriter metric_of(std::string_view name, std::uint32_t kind, const ProtoWriter& point,
                      ProtoWriter parts = {}) {
  parts.message(1, point);
  ProtoWriter metric;
  metric.bytes(1, name).bytes(3, "s").message(kind, parts);
  return metric;
}

Lines protobuf(const ProtoWriter& metric) {
  return lines_of(parse_otlp_metrics_protobuf(request_of(metric)));
}

std::uint64_t bits(std::int64_t value) { return std::bit_cast<std::uint64_t>(value); }

constexpr std::uint64_t kNow = 1'700'000'000'000'000'000;
constexpr const char* kAt = "@1700000000000000000";

std::string said(std::string_view line) {
  std::string text(line);
  text.replace(text.find('@'), 1, kAt);
  return text;
}

TEST(OtlpMetrics, GaugesAndSumsInProtobuf) {
  ProtoWriter point;
  point.fixed(3, kNow).real(4, 0.25).message(7, attribute("rank", "1"));
  EXPECT_EQ(protobuf(metric_of("loss", 5, point)),
            Lines{said(R"(gauge loss[service.name="train",rank="1"] = 0.25 s @)")});
  ProtoWriter whole;
  whole.fixed(3, kNow).fixed(6, bits(-7));
  EXPECT_EQ(protobuf(metric_of("queue", 7, whole, ProtoWriter().number(2, 2))),
            Lines{said(R"(gauge queue[service.name="train"] = -7 s @)")});
  EXPECT_EQ(protobuf(metric_of("steps", 7, whole, ProtoWriter().number(2, 2).number(3, 1))),
            Lines{said(R"(counter steps[service.name="train"] = -7 s @)")});
  EXPECT_EQ(protobuf(metric_of("steps", 7, whole, ProtoWriter().number(2, 1).number(3, 1))),
            Lines{said(R"(counter delta steps[service.name="train"] = -7 s @)")});
  whole.number(8, 1);  // has no value
  EXPECT_EQ(protobuf(metric_of("queue", 5, whole)), Lines{});
}

TEST(OtlpMetrics, HistogramsAndSummariesInProtobuf) {
  ProtoWriter point;
  point.fixed(3, kNow).fixed(4, 12).real(5, 3.5).fixed(6, 99);
  EXPECT_EQ(protobuf(metric_of("took", 9, point, ProtoWriter().number(2, 1))),
            (Lines{said(R"(counter delta took_count[service.name="train"] = 12  @)"),
                   said(R"(counter delta took_sum[service.name="train"] = 3.5 s @)")}));
  ProtoWriter exponential;
  exponential.message(1, attribute("k", "v")).fixed(4, 2).fixed(7, 5);
  EXPECT_EQ(protobuf(metric_of("took", 10, exponential, ProtoWriter().number(2, 2))),
            Lines{R"(counter took_count[service.name="train",k="v"] = 2  @0)"});
  ProtoWriter summary;
  summary.fixed(4, 1).real(5, 8).message(6, ProtoWriter().real(1, 0.5).real(2, 4));
  EXPECT_EQ(protobuf(metric_of("took", 11, summary)),
            (Lines{R"(counter took_count[service.name="train"] = 1  @0)",
                   R"(counter took_sum[service.name="train"] = 8 s @0)",
                   R"(gauge took[service.name="train",quantile="0.5"] = 4 s @0)"}));
}

TEST(OtlpMetrics, TheSameInJson) {
  const auto read = [](std::string_view metrics) {
    return lines_of(parse_otlp_metrics_json(fmt::format(
        R"({{"resourceMetrics": [{{"resource": {{"attributes": [{{"key": "pid",
           "value": {{"intValue": "7"}}}}]}}, "scopeMetrics": [{{"metrics": [{}]}}]}}]}})",
        metrics)));
  };
  EXPECT_EQ(read(R"({"name": "a", "unit": "By", "gauge": {"dataPoints": [
             {"asDouble": 1.5, "timeUnixNano": "1700000000000000000"}, {"asInt": "3"},
             {"asDouble": "NaN", "flags": 1}]}},
           {"name": "b", "unit": "1", "sum": {"isMonotonic": true,
             "aggregationTemporality": "AGGREGATION_TEMPORALITY_DELTA",
             "dataPoints": [{"asInt": 2, "attributes": [{"key": "x", "value": {"boolValue": true}}]}]}},
           {"name": "c", "unit": "s", "histogram": {"aggregation_temporality": 2,
             "data_points": [{"count": "4", "sum": 9.5, "bucketCounts": ["1", "3"]}]}},
           {"name": "d", "summary": {"dataPoints": [{"count": 1, "sum": 2,
             "quantileValues": [{"quantile": 0.99, "value": 3}]}]}})"),
            (Lines{said("gauge a[pid=7] = 1.5 B @"), "gauge a[pid=7] = 3 B @0",
                   "counter delta b[pid=7,x=true] = 2  @0", "counter c_count[pid=7] = 4  @0",
                   "counter c_sum[pid=7] = 9.5 s @0", "counter d_count[pid=7] = 1  @0",
                   "counter d_sum[pid=7] = 2  @0", R"(gauge d[pid=7,quantile="0.99"] = 3  @0)"}));
  for (const char* bad :
       {"", "[]", "{", R"({"resourceMetrics": 1})", R"({"resourceMetrics": [1]})",
        R"({"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"gauge": 1}]}]}]})"})
    EXPECT_EQ(lines_of(parse_otlp_metrics_json(bad)), Lines{"Invalid OpenTelemetry format"}) << bad;
  EXPECT_EQ(read(R"({"name": "a", "gauge": {"dataPoints": [{"asInt": "x"}]}})"),
            Lines{"Invalid OpenTelemetry format"});
}

TEST(OtlpMetrics, WhatIsTooMuchIsRefusedWhole) {
  ProtoWriter points;
  ProtoWriter point;
  point.real(4, 1);
  for (std::size_t i = 0; i <= kOtlpNumbers; ++i) points.message(1, point);
  const auto many =
      parse_otlp_metrics_protobuf(request_of(ProtoWriter().bytes(1, "a").message(5, points)));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Code::kTooLarge);
  // Few bytes that would be many copies.
  ProtoWriter summary;
  for (int i = 0; i < 2000; ++i) {
    summary.message(7, attribute("k", "v"));
    summary.message(6, ProtoWriter().real(1, 0.5).real(2, 4));
  }
  const auto copies = parse_otlp_metrics_protobuf(request_of(metric_of("a", 11, summary)));
  ASSERT_FALSE(copies);
  EXPECT_EQ(copies.error().code, Code::kTooLarge);
  // A long name, or attribute, for each of them.
  ProtoWriter hundred;
  for (int i = 0; i < 100; ++i) hundred.message(1, point);
  const auto names = parse_otlp_metrics_protobuf(
      request_of(ProtoWriter().bytes(1, std::string(1u << 20, 'a')).message(5, hundred)));
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().code, Code::kTooLarge);
  ProtoWriter quantiles;
  quantiles.message(7, attribute("k", std::string(1u << 20, 'v')));
  for (int i = 0; i < 100; ++i) quantiles.message(6, ProtoWriter().real(1, 0.5).real(2, 4));
  const auto attributes = parse_otlp_metrics_protobuf(request_of(metric_of("a", 11, quantiles)));
  ASSERT_FALSE(attributes);
  EXPECT_EQ(attributes.error().code, Code::kTooLarge);
}

RC_GTEST_PROP(OtlpMetrics, AnyBytesAreReadOrRefused, (std::string bytes)) {
  parse_otlp_metrics_protobuf(bytes);
  parse_otlp_metrics_json(bytes);
  parse_otlp_metrics_protobuf(request_of(ProtoWriter().bytes(1, "a").bytes(7, bytes)));
}

}  // namespace
}  // namespace corral::mlflow
