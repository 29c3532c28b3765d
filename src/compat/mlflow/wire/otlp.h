// Reads spans: OTLP's ExportTraceServiceRequest (https://opentelemetry.io/docs/specs/otlp/),
// protobuf or JSON, and the JSON in which MLflow stores them.
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

// A span as MLflow stores it: JSON in its database (`spans.content`, since 3.5) and in trace files.
// Attribute values are JSON texts there; they are parsed here, so that spans equal those of OTLP.
// Ids are base64, hex, or MLflow's trace ids. kInvalidArgument or kUnprocessable with the reason if
// the text is no such span.
Result<Span> parse_span_json(std::string_view content);
// Reads the spans of a trace file, `traces.json`, which clients before MLflow 3.4 send. Skips
// entries that are no spans. kInvalidArgument: not such a file.
Result<std::vector<Span>> parse_trace_file(std::string_view content);

}  // namespace corral::mlflow
