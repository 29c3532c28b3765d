#include "core/json_position.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

#include "core/text.h"

namespace corral {
namespace {

// Each function reads one thing and is false when the text does not have it; `at` then stands at
// the byte in question.
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

}  // namespace corral
