#include "compat/mlflow/wire/otlp_values.h"

#include <limits>

#include "compat/mlflow/wire/otlp_fields.h"
#include "compat/mlflow/wire/span_fields.h"
#include "core/text.h"

namespace corral::mlflow::otlp {
namespace {

using codec::ProtoField;
using codec::ProtoWire;
using span_fields::each_object;
using span_fields::integer;
using span_fields::member;
using span_fields::text;

// ---- protobuf

Json any_value(std::string_view message, OtlpChecks& checks, int depth);

Json array_value(std::string_view message, OtlpChecks& checks, int depth) {
  Json::Array items;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kValues)) items.push_back(any_value(field.bytes, checks, depth));
  });
  return items;
}

Json kvlist_value(std::string_view message, OtlpChecks& checks, int depth) {
  Json::Object items;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kValues)) items.push_back(key_value(field.bytes, checks, depth));
  });
  return items;
}

// The last member of a oneof counts.
Json any_value(std::string_view message, OtlpChecks& checks, int depth) {
  Json out;
  if (!checks.count_value(depth)) return out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.is(kBoolValue, ProtoWire::kVarint)) out = field.value != 0;
    if (field.is(kIntValue, ProtoWire::kVarint)) out = static_cast<std::int64_t>(field.value);
    if (field.is(kDoubleValue, ProtoWire::kFixed64)) out = field.real();
    if (field.wire != ProtoWire::kBytes) return;
    if (field.number == kStringValue) out = to_utf8(field.bytes);
    if (field.number == kBytesValue) out = base64(field.bytes);
    if (field.number == kArrayValue) out = array_value(field.bytes, checks, depth + 1);
    if (field.number == kKvlistValue) out = kvlist_value(field.bytes, checks, depth + 1);
  });
  return out;
}

// ---- JSON

Json any_value(const Json& value, OtlpChecks& checks, int depth) {
  if (!checks.count_value(depth)) return {};
  if (value.as_object() == nullptr) checks.malformed();
  if (const Json* v = member(value, "stringValue", "string_value")) return text(v, checks);
  if (const Json* v = member(value, "boolValue", "bool_value")) {
    if (v->as_bool() == nullptr) checks.malformed();
    return v->as_bool() != nullptr && *v->as_bool();
  }
  if (const Json* v = member(value, "intValue", "int_value"))
    return integer<std::int64_t>(*v, checks);
  if (const Json* v = member(value, "doubleValue", "double_value")) return real(*v, checks);
  if (const Json* v = member(value, "bytesValue", "bytes_value")) return text(v, checks);
  if (const Json* v = member(value, "arrayValue", "array_value")) {
    Json::Array items;
    each_object(member(*v, "values"), checks,
                [&](const Json& item) { items.push_back(any_value(item, checks, depth + 1)); });
    return items;
  }
  if (const Json* v = member(value, "kvlistValue", "kvlist_value"))
    return Json::Object(attributes(member(*v, "values"), checks, depth + 1));
  return {};
}

}  // namespace

std::pair<std::string, Json> key_value(std::string_view message, OtlpChecks& checks, int depth) {
  std::pair<std::string, Json> out;
  if (!checks.count_value(depth)) return out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kKey)) out.first = to_utf8(field.bytes);
    if (is_bytes(field, kValue)) out.second = any_value(field.bytes, checks, depth);
  });
  return out;
}

double real(const Json& value, OtlpChecks& checks) {
  const auto* given = value.as_string();
  if (given == nullptr && !value.is_double() && value.as_int() == nullptr) checks.malformed();
  if (given == nullptr) return value.as_double(0);
  if (*given == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (*given == "Infinity") return std::numeric_limits<double>::infinity();
  if (*given == "-Infinity") return -std::numeric_limits<double>::infinity();
  const auto number = parse_double(*given);
  if (!number) checks.malformed();
  return number.value_or(0);
}

SpanAttributes attributes(const Json* list, OtlpChecks& checks, int depth) {
  SpanAttributes out;
  each_object(list, checks, [&](const Json& item) {
    const Json* value = member(item, "value");
    std::string key = text(member(item, "key"), checks);
    if (checks.count_value(depth))
      out.emplace_back(std::move(key),
                       value != nullptr ? any_value(*value, checks, depth) : Json());
  });
  return out;
}

}  // namespace corral::mlflow::otlp
