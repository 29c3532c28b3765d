#include "server/api/json_position.h"

#include <algorithm>

namespace corral::server::api {
namespace {

constexpr int kMaxDepth = 64;

// Each function reads one thing and is false when the text does not have it; `at` then stands at the byte in question.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  bool value(int depth) {
    skip_space();
    switch (peek()) {
      case '{': return depth < kMaxDepth && list('}', [&] { return member(depth + 1); });
      case '[': return depth < kMaxDepth && list(']', [&] { return value(depth + 1); });
      case '"': return string();
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
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
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits();
  }
  bool string() {
    ++at_;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') return take('"');
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      if (text_[at_] == '\\') ++at_;
    }
    at_ = text_.size();
    return false;
  }
  bool member(int depth) {
    skip_space();
    if (peek() != '"' || !string()) return false;
    skip_space();
    return take(':') && value(depth);
  }
  template <class Item>
  bool list(char end, Item item) {
    ++at_;
    skip_space();
    if (take(end)) return true;
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
  return walker.at();
}

}  // namespace corral::server::api
