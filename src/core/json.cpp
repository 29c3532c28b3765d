#include "core/json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "core/text.h"

namespace corral {
namespace {

using Element = simdjson::dom::element;

constexpr int kJsonDepth = 64;  // levels of arrays and objects that are not empty

Json from_element(const Element& e);

Json from_array(const simdjson::dom::array& source) {
  Json::Array array;
  array.reserve(source.size());
  for (const Element child : source) array.push_back(from_element(child));
  return array;
}

Json from_object(const simdjson::dom::object& source) {
  Json::Object object;
  object.reserve(source.size());
  for (const auto field : source)
    object.emplace_back(std::string(field.key), from_element(field.value));
  return object;
}

Json from_element(const Element& e) {
  using Type = simdjson::dom::element_type;
  switch (e.type()) {
    case Type::ARRAY:
      return from_array(e.get_array().value_unsafe());
    case Type::OBJECT:
      return from_object(e.get_object().value_unsafe());
    case Type::INT64:
      return Json(e.get_int64().value_unsafe());
    case Type::UINT64:
      return Json(static_cast<double>(e.get_uint64().value_unsafe()));
    case Type::DOUBLE:
      return Json(e.get_double().value_unsafe());
    case Type::STRING:
      return Json(std::string(e.get_string().value_unsafe()));
    case Type::BOOL:
      return Json(e.get_bool().value_unsafe());
    case Type::NULL_VALUE:
      return Json();
  }
  return Json();
}

// Finds where a refused text stops being JSON: the parser reports the error without it. Each
// function reads one thing and is false when the text does not have it; `at` then stands at the
// byte in question.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  bool value(int depth) {
    skip_space();
    switch (peek()) {
      case '{':
        return list('}', depth, [&] { return member(depth + 1); });
      case '[':
        return list(']', depth, [&] { return value(depth + 1); });
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }
  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view expected) {
    return std::ranges::all_of(expected, [this](char c) { return take(c); });
  }
  bool digits() {
    const std::size_t from = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > from;
  }
  bool number() {
    const std::size_t from = at_;
    take('-');
    if (!take('0') && !digits()) return false;
    bool whole = true;
    if (take('.')) {
      whole = false;
      if (!digits()) return false;
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    if (in_range(text_.substr(from, at_ - from), whole)) return true;
    at_ = from;
    return false;
  }
  static bool in_range(std::string_view text, bool whole) {
    const char* const end = text.data() + text.size();
    if (whole) {
      std::uint64_t positive = 0;
      return parse_int(text) || std::from_chars(text.data(), end, positive).ec == std::errc();
    }
    double d = 0;
    const bool underflow = text.find('-', 1) != std::string_view::npos;
    return underflow || std::from_chars(text.data(), end, d).ec == std::errc();
  }
  bool string() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      if (!take('\\')) {
        ++at_;
      } else if (!escape()) {
        return false;
      }
    }
    return take('"');
  }
  bool escape() {
    if (!take('u')) {
      if (at_ >= text_.size() ||
          std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos)
        return false;
      ++at_;
      return true;
    }
    for (int i = 0; i < 4; ++i) {
      if (std::isxdigit(static_cast<unsigned char>(peek())) == 0) return false;
      ++at_;
    }
    return true;
  }
  bool member(int depth) {
    skip_space();
    if (peek() != '"' || !string()) return false;
    skip_space();
    return take(':') && value(depth);
  }
  template <class Item>
  bool list(char end, int depth, Item item) {
    const std::size_t from = at_++;
    skip_space();
    if (take(end)) return true;
    if (depth >= kJsonDepth) {
      at_ = from;
      return false;
    }
    for (;;) {
      if (!item()) return false;
      skip_space();
      if (take(end)) return true;
      if (!take(',')) return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::size_t json_error_position(std::string_view text) {
  Walker walker(text);
  if (walker.value(0)) walker.skip_space();
  return std::min(walker.at(), utf8_prefix(text));
}

Result<Json> Json::parse(std::string_view text) {
  // The parser copies even nothing, and not from nowhere.
  if (text.empty()) text = "";
  simdjson::dom::parser parser;
  // The parser counts the document itself as a level.
  if (parser.allocate(text.size() + 1, kJsonDepth + 1) != simdjson::SUCCESS) {
    return fail(Code::kTooLarge, "JSON text is too large");
  }
  Element root;
  const auto error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) {
    return fail(Code::kInvalidArgument,
                fmt::format("malformed JSON at byte {}: {}", json_error_position(text),
                            simdjson::error_message(error)));
  }
  return from_element(root);
}

std::size_t json_memory(std::string_view text) {
  constexpr std::size_t kValueBytes = 128;
  std::size_t values = 1, blanks = 0;
  for (const char c : text) {
    values += static_cast<std::size_t>((c == ',') | (c == ':') | (c == '[') | (c == '{'));
    blanks += static_cast<std::size_t>((c == ' ') | (c == '\n') | (c == '\r') | (c == '\t'));
  }
  return values * kValueBytes + 3 * text.size() - 2 * blanks;
}

std::string Json::dump() const {
  std::string out;
  JsonWriter(out).value(*this);
  return out;
}

double Json::as_double(double fallback) const {
  if (const auto* d = std::get_if<double>(&value_)) return *d;
  if (const auto* n = as_int()) return static_cast<double>(*n);
  return fallback;
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  for (const auto& [name, value] : *object) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string Json::get_string(std::string_view key, std::string_view fallback) const {
  const Json* found = find(key);
  const std::string* text = found != nullptr ? found->as_string() : nullptr;
  return text != nullptr ? *text : std::string(fallback);
}

bool Json::get_bool(std::string_view key, bool fallback) const {
  const Json* found = find(key);
  const bool* value = found != nullptr ? found->as_bool() : nullptr;
  return value != nullptr ? *value : fallback;
}

std::int64_t Json::get_int(std::string_view key, std::int64_t fallback) const {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  if (const auto* n = found->as_int()) return *n;
  if (const auto* text = found->as_string()) return parse_int(*text).value_or(fallback);
  return fallback;
}

void Json::set(std::string key, Json value) {
  if (!std::holds_alternative<Object>(value_)) value_ = Object{};
  auto& object = std::get<Object>(value_);
  for (auto& [name, old] : object) {
    if (name == key) {
      old = std::move(value);
      return;
    }
  }
  object.emplace_back(std::move(key), std::move(value));
}

void JsonWriter::separate() {
  if (!first_) out_.push_back(',');
  first_ = false;
}

JsonWriter& JsonWriter::begin(char bracket) {
  separate();
  out_.push_back(bracket);
  first_ = true;
  return *this;
}
JsonWriter& JsonWriter::end(char bracket) {
  out_.push_back(bracket);
  first_ = false;
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  out_.push_back(':');
  first_ = true;
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  out_.append(text);
  return *this;
}
JsonWriter& JsonWriter::null() { return raw("null"); }
JsonWriter& JsonWriter::value(bool b) { return raw(b ? "true" : "false"); }
JsonWriter& JsonWriter::value(std::int64_t n) { return raw(fmt::format_int(n).c_str()); }
JsonWriter& JsonWriter::value(double d) {
  if (std::isnan(d)) return value(std::string_view("NaN"));
  if (std::isinf(d)) return value(std::string_view(d > 0 ? "Infinity" : "-Infinity"));
  if (d == 0 && std::signbit(d)) return raw("-0.0");  // "-0" would read as the integer 0
  char buffer[32];
  // All its digits would read as an integer that has more than 64 bits.
  constexpr double kDigitsFit = 9.2e18;
  const auto end =
      std::abs(d) < kDigitsFit
          ? std::to_chars(buffer, buffer + sizeof buffer, d).ptr
          : std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
  return raw(std::string_view(buffer, end));
}
JsonWriter& JsonWriter::value(std::string_view s) {
  separate();
  append_json_string(out_, s);
  return *this;
}
JsonWriter& JsonWriter::value_string(std::int64_t n) {
  return value(std::string_view(fmt::format_int(n).c_str()));
}
JsonWriter& JsonWriter::value(const Json& j) {
  if (const auto* b = j.as_bool()) return value(*b);
  if (const auto* n = j.as_int()) return value(*n);
  if (const auto* s = j.as_string()) return value(std::string_view(*s));
  if (j.is_double()) return value(j.as_double(0));
  if (const auto* array = j.as_array()) {
    begin_array();
    for (const Json& child : *array) value(child);
    return end_array();
  }
  if (const auto* object = j.as_object()) {
    begin_object();
    for (const auto& [name, child] : *object) member(name, child);
    return end_object();
  }
  return null();
}

}  // namespace corral
