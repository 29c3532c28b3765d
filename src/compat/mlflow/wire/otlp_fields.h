// Numbers of the fields of OTLP's messages, as opentelemetry/proto/{collector/,}trace/v1,
// resource/v1 and common/v1 give them. For span.cpp and otlp_protobuf.cpp.
#pragma once

#include <cstdint>

#include "codec/protobuf.h"

namespace corral::mlflow::otlp {

using FieldNumber = std::uint32_t;

// ExportTraceServiceRequest, ResourceSpans, Resource, ScopeSpans
inline constexpr FieldNumber kResourceSpans = 1, kResource = 1, kScopeSpans = 2,
                             kResourceAttributes = 1, kSpans = 2;
// Span
inline constexpr FieldNumber kTraceId = 1, kSpanId = 2, kParentSpanId = 4, kName = 5, kKind = 6,
                             kStart = 7, kEnd = 8, kAttributes = 9, kEvents = 11, kLinks = 13,
                             kStatus = 15;
inline constexpr FieldNumber kLane = 1000;  // ours, only in stored spans
inline constexpr FieldNumber kEventTime = 1, kEventName = 2, kEventAttributes = 3;
inline constexpr FieldNumber kLinkTrace = 1, kLinkSpan = 2, kLinkAttributes = 4;
inline constexpr FieldNumber kStatusMessage = 2, kStatusCode = 3;
// KeyValue, AnyValue, ArrayValue, KeyValueList
inline constexpr FieldNumber kKey = 1, kValue = 2;
inline constexpr FieldNumber kStringValue = 1, kBoolValue = 2, kIntValue = 3, kDoubleValue = 4,
                             kArrayValue = 5, kKvlistValue = 6, kBytesValue = 7;
inline constexpr FieldNumber kValues = 1;

}  // namespace corral::mlflow::otlp
