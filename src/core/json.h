// JSON: one reader (simdjson behind it) and one writer, for manifests, requests and answers.
//
// Json is a small value tree for documents of a few MiB at most; big answers are written with
// JsonWriter as they are produced. Integers keep 64 bits. Objects keep their order. Not for hot
// paths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"

namespace corral {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool b) : value_(b) {}
  Json(std::int64_t n) : value_(n) {}
  Json(int n) : value_(std::int64_t{n}) {}
  Json(double d) : value_(d) {}
  Json(std::string s) : value_(std::move(s)) {}
  Json(std::string_view s) : value_(std::string(s)) {}
  Json(const char* s) : value_(std::string(s)) {}
  Json(Array a) : value_(std::move(a)) {}
  Json(Object o) : value_(std::move(o)) {}

  // kInvalidArgument with "at byte N" for malformed text; nesting at most 64 deep.
  static Result<Json> parse(std::string_view text);
  [[nodiscard]] std::string dump() const;

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // nullptr when the value has another type. as_double takes integers too.
  [[nodiscard]] const bool* as_bool() const { return std::get_if<bool>(&value_); }
  [[nodiscard]] const std::int64_t* as_int() const { return std::get_if<std::int64_t>(&value_); }
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&value_); }
  [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&value_); }
  [[nodiscard]] bool is_double() const { return std::holds_alternative<double>(value_); }
  [[nodiscard]] double as_double(double fallback) const;

  // Member of an object, or nullptr; never throws.
  [[nodiscard]] const Json* find(std::string_view key) const;
  // Member's text or number; the fallback when absent or of another type.
  [[nodiscard]] std::string get_string(std::string_view key, std::string_view fallback = "") const;
  [[nodiscard]] bool get_bool(std::string_view key, bool fallback = false) const;
  // Takes numbers and decimal strings (64-bit times travel as strings).
  [[nodiscard]] std::int64_t get_int(std::string_view key, std::int64_t fallback = 0) const;
  // Sets a member of an object, replacing one of that name.
  void set(std::string key, Json value);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

// Offset of the first byte that cannot continue a JSON text that Json::parse takes (for a number
// out of range: of its first), the text's length when it ends too early. Only for texts that were
// refused.
std::size_t json_error_position(std::string_view text);

// An upper bound, in bytes, of the memory that it takes to read `text` as JSON and to make as many
// values of one's own of it. Cheap: it counts what separates values, also inside of strings, which
// may hold JSON themselves, and does not check the text.
std::size_t json_memory(std::string_view text);

// Appends JSON to a string. Commas and escapes are its business; nesting is the caller's. Invalid
// UTF-8 becomes U+FFFD; NaN and infinities become the strings "NaN", "Infinity", "-Infinity".
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}
  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& null();
  JsonWriter& value(bool b);
  JsonWriter& value(std::int64_t n);
  JsonWriter& value(int n) { return value(std::int64_t{n}); }
  JsonWriter& value(double d);
  JsonWriter& value(std::string_view s);
  JsonWriter& value(const std::string& s) { return value(std::string_view(s)); }
  JsonWriter& value(const char* s) { return value(std::string_view(s)); }
  JsonWriter& value(const Json& j);
  // A 64-bit integer as a decimal string, as the API carries times and counts.
  JsonWriter& value_string(std::int64_t n);
  template <class T>
  JsonWriter& member(std::string_view name, const T& v) {
    key(name);
    return value(v);
  }

 private:
  JsonWriter& begin(char bracket);
  JsonWriter& end(char bracket);
  void separate();
  JsonWriter& raw(std::string_view text);
  std::string& out_;
  bool first_ = true;
};

}  // namespace corral
