// The parts that the readers of OTLP's spans and metrics share: numbers of fields, the bounds of a
// request and the validity of a span, and values in protobuf and in JSON. For wire/ alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "codec/protobuf.h"
#include "compat/mlflow/wire/otlp.h"
#include "compat/mlflow/wire/span.h"
#include "core/json.h"

namespace corral::mlflow::otlp {

// ---- numbers of fields, as opentelemetry/proto/{collector/,}trace/v1, resource/v1 and common/v1
// give them

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

// ---- checks, for both forms

// Keeps the first error.
class Checks {
 public:
  [[nodiscard]] bool ok() const { return !error_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  void wrong(Code code, std::string_view message) {
    if (!error_) error_ = Error{code, std::string(message)};
  }
  void malformed() { wrong(Code::kInvalidArgument, "Invalid OpenTelemetry format"); }
  bool count_span() {
    if (++spans_ > kOtlpSpans) wrong(Code::kTooLarge, "more than 100,000 spans in one request");
    return ok();
  }
  bool count_value(int depth) {
    if (depth > kOtlpDepth) malformed();
    if (++values_ > kOtlpValues)
      wrong(Code::kTooLarge, "more than a million values in one request");
    return ok();
  }
  // Counts bytes that a request holds once and that are copied for each of many numbers.
  bool count_copy(std::size_t bytes) {
    if ((copied_ += bytes) > kOtlpCopied)
      wrong(Code::kTooLarge, "names and attributes of many numbers are too long together");
    return ok();
  }

  // 16 and 8 raw bytes, not all zero; an empty parent is none.
  void trace_id(std::string_view bytes, OtelTraceId& id);
  std::uint64_t span_id(std::string_view bytes);
  std::uint64_t parent_id(std::string_view bytes);
  std::int64_t time(std::uint64_t ns);
  // Ids, times, lane.
  void finish(const SpanAttributes& resource, Span& span);

 private:
  void bad_span(std::string_view why) { wrong(Code::kUnprocessable, why); }

  std::optional<Error> error_;
  std::size_t spans_ = 0;
  std::size_t values_ = 0;
  std::size_t copied_ = 0;
};

SpanKind span_kind(std::uint64_t number);      // unknown ones: kUnspecified
SpanStatus span_status(std::uint64_t number);  // likewise: kUnset

// ---- protobuf

// Calls `take(field)` for every field of the message.
template <class Take>
void each_field(std::string_view message, Checks& checks, Take&& take) {
  codec::ProtoReader in(message);
  codec::ProtoField field;
  while (checks.ok() && in.next(field)) take(field);
  if (!in.ok()) checks.malformed();
}

inline bool is_bytes(const codec::ProtoField& field, std::uint32_t number) {
  return field.is(number, codec::ProtoWire::kBytes);
}

// A KeyValue that is nested `depth` deep.
std::pair<std::string, Json> key_value(std::string_view message, Checks& checks, int depth);
// Appends the attributes of a Resource.
void read_resource(std::string_view message, Checks& checks, SpanAttributes& out);

// ---- JSON: OTLP's, and that of the spans of MLflow's databases

// One object. A member is found under the name that the message declares (start_time), or in OTLP
// under its JSON name (startTime), which counts if both are there; null is absent.
struct Fields {
  const Json& object;
  Checks& checks;
  bool declared_only = false;

  [[nodiscard]] const Json* find(std::string_view declared, std::string_view name = {}) const {
    const Json* value = name.empty() || declared_only ? nullptr : object.find(name);
    if (value == nullptr) value = object.find(declared);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  // Returns nullopt if there is no member of that name.
  [[nodiscard]] std::optional<Fields> within(std::string_view declared) const {
    const Json* value = find(declared);
    if (value == nullptr) return std::nullopt;
    return Fields{*value, checks, declared_only};
  }

  // Absent ones are "" and 0.
  [[nodiscard]] std::string text(std::string_view declared, std::string_view name = {}) const;
  [[nodiscard]] std::int64_t signed_number(std::string_view declared,
                                           std::string_view name = {}) const;
  [[nodiscard]] std::uint64_t number(std::string_view declared, std::string_view name = {}) const;
  // A number, its digits, "NaN", "Infinity" or "-Infinity".
  [[nodiscard]] double real(std::string_view declared, std::string_view name = {}) const;
  [[nodiscard]] std::int64_t time(std::string_view declared, std::string_view name = {}) const {
    return checks.time(number(declared, name));
  }
  // The list `attributes`, nested `depth` deep; none: no list.
  [[nodiscard]] SpanAttributes attributes(int depth = 0,
                                          std::string_view declared = "attributes") const;

  // Calls `take(Fields)` for every object of a list.
  template <class Take>
  void each(std::string_view declared, std::string_view name, Take&& take) const {
    const Json* list = find(declared, name);
    if (list == nullptr) return;
    if (list->as_array() == nullptr) return checks.malformed();
    for (const Json& item : *list->as_array()) {
      if (!checks.ok()) return;
      if (item.as_object() == nullptr) return checks.malformed();
      take(Fields{item, checks, declared_only});
    }
  }
};

// A message: one object. Anything else is malformed.
template <class Read>
void read_json(std::string_view body, Checks& checks, Read&& read) {
  const auto json = Json::parse(body);
  if (!json || json->as_object() == nullptr) return checks.malformed();
  read(Fields{*json, checks});
}

}  // namespace corral::mlflow::otlp
