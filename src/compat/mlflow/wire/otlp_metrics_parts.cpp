#include "compat/mlflow/wire/otlp_metrics_parts.h"

#include <fmt/core.h>

namespace corral::mlflow::otlp {
namespace {

constexpr std::string_view kCount = "_count";

// The units of OTLP are those of UCUM, where "1" is none and braces are a remark.
std::string_view plain_unit(std::string_view unit) {
  if (unit == "1" || unit.starts_with('{')) return {};
  return unit == "By" ? "B" : unit;
}

constexpr std::size_t kValueBytes = 32;

std::size_t memory_of(const Json& value) {
  std::size_t bytes = kValueBytes;
  if (const auto* text = value.as_string()) bytes += text->size();
  if (const auto* items = value.as_array())
    for (const Json& item : *items) bytes += memory_of(item);
  if (const auto* members = value.as_object())
    for (const auto& [key, member] : *members) bytes += key.size() + memory_of(member);
  return bytes;
}

class Numbers {
 public:
  Numbers(const MetricParts& metric, OtlpChecks& checks, std::vector<OtlpNumber>& out)
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
      put(point, kCount,
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
    if (ending != kCount) number.unit = plain_unit(metric_.unit);
    number.attributes.insert(number.attributes.begin(), point.attributes.begin(),
                             point.attributes.end());
    number.time_ns = point.time_ns;
    out_.push_back(std::move(number));
  }

  const MetricParts& metric_;
  OtlpChecks& checks_;
  std::vector<OtlpNumber>& out_;
  std::size_t copy_ = 0;  // bytes that each number of the point repeats
};

}  // namespace

void add_numbers(const MetricParts& metric, OtlpChecks& checks, std::vector<OtlpNumber>& out) {
  Numbers numbers(metric, checks, out);
  for (const MetricPoint& point : metric.points) {
    if (!checks.ok()) return;
    numbers.add(point);
  }
}

}  // namespace corral::mlflow::otlp

namespace corral::mlflow {

std::size_t memory_of(const SpanAttributes& attributes) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : attributes) bytes += key.size() + otlp::memory_of(value);
  return bytes;
}

}  // namespace corral::mlflow
