// Span: one span of a trace, as OTLP sends it and MLflow's interface returns it.
//
// otlp.h reads requests into spans. The store keeps each as OTLP's own Span message (encode_span).
// write_span writes it as in MLflow's answers: proto3 JSON with names as they are declared. Pure,
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace corral::mlflow {

// In their order. Bytes are base64 text.
using SpanAttributes = std::vector<std::pair<std::string, Json>>;

enum class SpanKind : std::uint8_t {
  kUnspecified = 0,
  kInternal = 1,
  kServer = 2,
  kClient = 3,
  kProducer = 4,
  kConsumer = 5
};
enum class SpanStatus : std::uint8_t { kUnset = 0, kOk = 1, kError = 2 };

struct SpanEvent {
  std::string name;
  std::int64_t time_ns = 0;
  SpanAttributes attributes;
};
using OtelTraceId = std::array<std::uint8_t, 16>;
struct SpanLink {
  OtelTraceId trace{};
  std::uint64_t span = 0;
  SpanAttributes attributes;
};

struct Span {
  OtelTraceId trace{};
  std::uint64_t id = 0;      // never 0
  std::uint64_t parent = 0;  // 0: a root
  std::string name;
  SpanKind kind = SpanKind::kUnspecified;
  SpanStatus status = SpanStatus::kUnset;
  std::string status_message;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  // 0: it has not ended
  SpanAttributes attributes;
  std::vector<SpanEvent> events;
  std::vector<SpanLink> links;
  std::string lane;  // the known parts of "host/process/thread"

  // nullptr when there is none of that name.
  [[nodiscard]] const Json* attribute(std::string_view key) const;
  // The attribute's text; "" when it is absent or no text.
  [[nodiscard]] std::string_view text(std::string_view key) const;
};

inline constexpr std::string_view kRequestIdAttribute = "mlflow.traceRequestId";
inline constexpr std::string_view kSpanTypeAttribute = "mlflow.spanType";

const Json* find_attribute(const SpanAttributes& attributes, std::string_view key);
// MLflow's id of the trace: "tr-" and 32 hex digits.
std::string trace_id_text(const OtelTraceId& trace);
// 16 hex digits.
std::string span_id_text(std::uint64_t id);

// The Span message of OTLP; the lane is a field of ours that other readers skip.
std::string encode_span(const Span& span);
Result<Span> decode_span(std::string_view bytes);

void write_span(JsonWriter& json, const Span& span);

}  // namespace corral::mlflow
