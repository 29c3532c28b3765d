// Values and attributes of OTLP's messages, in protobuf and in JSON, for spans and metrics.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "codec/protobuf.h"
#include "compat/mlflow/wire/otlp_parts.h"
#include "compat/mlflow/wire/span.h"
#include "core/json.h"

namespace corral::mlflow::otlp {

// Calls `take(field)` for every field of the message.
template <class Take>
void each_field(std::string_view message, OtlpChecks& checks, Take&& take) {
  codec::ProtoReader in(message);
  codec::ProtoField field;
  while (checks.ok() && in.next(field)) take(field);
  if (!in.ok()) checks.malformed();
}

inline bool is_bytes(const codec::ProtoField& field, std::uint32_t number) {
  return field.is(number, codec::ProtoWire::kBytes);
}

// A KeyValue that is nested `depth` deep.
std::pair<std::string, Json> key_value(std::string_view message, OtlpChecks& checks, int depth);

// A list of them in JSON; none: no list.
SpanAttributes attributes(const Json* list, OtlpChecks& checks, int depth);
// A double: a number, its digits, "NaN", "Infinity" or "-Infinity".
double real(const Json& value, OtlpChecks& checks);

}  // namespace corral::mlflow::otlp
