// OTLP's ExportTraceServiceRequest (https://opentelemetry.io/docs/specs/otlp/): protobuf or JSON
// into spans.
//
// Fields that are not needed to show a span again are ignored (dropped counts, trace state, scopes,
// schema URLs). Invalid UTF-8 is replaced. A request is taken whole or not at all. Bounds: values
// nest 32 deep, and a request holds at most 100,000 spans and a million values, so that a small
// body cannot use much memory. Pure, any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "compat/mlflow/wire/span.h"

namespace corral::mlflow {

// Spans of one process or service.
struct ResourceSpans {
  SpanAttributes resource;
  std::vector<Span> spans;
};
using SpanExport = std::vector<ResourceSpans>;

inline constexpr std::size_t kOtlpSpans = 100'000;
inline constexpr std::size_t kOtlpValues = 1'000'000;
inline constexpr std::size_t kOtlpCopied = 64u << 20;  // bytes of names and attributes, repeated
inline constexpr int kOtlpDepth = 32;

// kInvalidArgument: the body is not of that form; kUnprocessable: a span without good ids or times;
// kTooLarge.
Result<SpanExport> parse_otlp_protobuf(std::string_view body);
// Ids in hex, as OTLP says, or base64, as proto3 says; 64-bit numbers as numbers or strings; names
// of fields in either spelling.
Result<SpanExport> parse_otlp_json(std::string_view body);

// "host/service:pid/thread" from the known parts; "" if none is known.
std::string lane_of(const SpanAttributes& resource, const Span& span);

}  // namespace corral::mlflow
