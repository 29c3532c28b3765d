// Fields of spans in JSON that OTLP's JSON and the spans of MLflow's databases share.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "compat/mlflow/wire/otlp_parts.h"
#include "compat/mlflow/wire/span.h"
#include "core/json.h"

namespace corral::mlflow::span_fields {

// A member under its JSON name or the name that the message declares; nullptr for null, too.
inline const Json* member(const Json& object, std::string_view name,
                          std::string_view declared = {}) {
  const Json* value = object.find(name);
  if (value == nullptr && !declared.empty()) value = object.find(declared);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// Calls `take(item)` for every object of a list.
template <class Take>
void each_object(const Json* list, OtlpChecks& checks, Take&& take) {
  if (list == nullptr) return;
  if (list->as_array() == nullptr) return checks.malformed();
  for (const Json& item : *list->as_array()) {
    if (!checks.ok()) return;
    if (item.as_object() == nullptr) return checks.malformed();
    take(item);
  }
}

inline std::string text(const Json* value, OtlpChecks& checks) {
  if (value == nullptr) return {};
  const auto* found = value->as_string();
  if (found == nullptr) checks.malformed();
  return found != nullptr ? *found : std::string();
}

template <class Integer>
Integer integer(const Json& value, OtlpChecks& checks) {
  Integer number{};
  if (const auto* given = value.as_int()) {
    if (std::is_unsigned_v<Integer> && *given < 0) checks.malformed();
    return static_cast<Integer>(*given);
  }
  const auto* digits = value.as_string();
  if (digits == nullptr) {
    checks.malformed();
    return number;
  }
  const char* end = digits->data() + digits->size();
  const auto read = std::from_chars(digits->data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) checks.malformed();
  return number;
}

inline std::int64_t time(const Json* value, OtlpChecks& checks) {
  return value == nullptr ? 0 : checks.time(integer<std::uint64_t>(*value, checks));
}

// The bytes of an id of `size` bytes: hex, else base64; anything else is left for its check.
inline std::string id_bytes(const Json* value, std::size_t size, OtlpChecks& checks) {
  const std::string given = text(value, checks);
  if (given.size() != 2 * size) return from_base64(given).value_or("?");
  std::string bytes;
  for (std::size_t at = 0; at < given.size(); at += 2) {
    unsigned byte = 0;
    const auto read = std::from_chars(given.data() + at, given.data() + at + 2, byte, 16);
    if (read.ptr != given.data() + at + 2) return "?";
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

inline constexpr std::size_t kTraceIdBytes = 16;
inline constexpr std::size_t kSpanIdBytes = 8;

}  // namespace corral::mlflow::span_fields
