#include "compat/mlflow/wire/otlp_parts.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace corral::mlflow {
namespace {

// A text or number as a part of a lane; separators in it become "_".
std::string part_of(const Json* value) {
  if (value == nullptr) return {};
  std::string text;
  if (const auto* given = value->as_string()) {
    text = given->substr(0, 80);
  } else if (const auto* number = value->as_int()) {
    text = std::to_string(*number);
  }
  std::ranges::replace(text, '/', '_');
  return text;
}

std::string first_of(const SpanAttributes& attributes,
                     std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (std::string text = part_of(find_attribute(attributes, name)); !text.empty()) return text;
  }
  return {};
}

}  // namespace

void OtlpChecks::trace_id(std::string_view bytes, OtelTraceId& id) {
  if (bytes.size() != id.size()) return bad_span("a trace id has 16 bytes");
  std::ranges::transform(bytes, id.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
}

std::uint64_t OtlpChecks::span_id(std::string_view bytes) {
  constexpr std::size_t kBytes = 8;
  if (bytes.size() != kBytes) {
    bad_span("a span id has 8 bytes");
    return 0;
  }
  std::uint64_t id = 0;
  for (const char c : bytes) id = id << 8 | static_cast<std::uint8_t>(c);
  return id;
}

std::uint64_t OtlpChecks::parent_id(std::string_view bytes) {
  return bytes.empty() ? 0 : span_id(bytes);
}

std::int64_t OtlpChecks::time(std::uint64_t ns) {
  if (ns > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    bad_span("a time is after the year 2262");
  return static_cast<std::int64_t>(ns);
}

void OtlpChecks::finish(const SpanAttributes& resource, Span& span) {
  if (span.id == 0) bad_span("a span has no id");
  if (span.trace == OtelTraceId{}) bad_span("a span has no trace id");
  if (span.lane.empty()) span.lane = lane_of(resource, span);
}

SpanKind span_kind(std::uint64_t number) {
  return number <= static_cast<std::uint64_t>(SpanKind::kConsumer) ? static_cast<SpanKind>(number)
                                                                   : SpanKind::kUnspecified;
}

SpanStatus span_status(std::uint64_t number) {
  return number <= static_cast<std::uint64_t>(SpanStatus::kError) ? static_cast<SpanStatus>(number)
                                                                  : SpanStatus::kUnset;
}

std::string lane_of(const SpanAttributes& resource, const Span& span) {
  const std::string host = first_of(resource, {"host.name", "host.id"});
  std::string process = first_of(resource, {"service.name"});
  if (process.starts_with("unknown_service")) process.clear();
  const std::string pid = first_of(resource, {"process.pid", "service.instance.id"});
  if (!pid.empty()) process += (process.empty() ? "" : ":") + pid;
  const std::string thread = first_of(span.attributes, {"thread.name", "thread.id", "thread_id"});
  std::string lane;
  for (const std::string& part : {host, process, thread}) {
    if (!part.empty()) lane += (lane.empty() ? "" : "/") + part;
  }
  return lane;
}

}  // namespace corral::mlflow
