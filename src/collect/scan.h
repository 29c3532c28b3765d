// Scanner: reads words and numbers out of the text of a /proc file, line by line.
//
// Works on borrowed text, never allocates, never reads past its end, accepts any bytes. Numbers
// that do not fit stay at the greatest value. A read that finds something else leaves the position
// where it was and says so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace corral::collect {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }

  // The next run of characters on this line that are neither blank nor `stop`; empty at the end of
  // the line.
  std::string_view word(char stop = ' ') {
    skip_blanks();
    std::size_t n = 0;
    while (n < rest_.size() && !is_blank(rest_[n]) && rest_[n] != '\n' && rest_[n] != stop) ++n;
    return take(n);
  }

  bool number(std::uint64_t& out) {
    skip_blanks();
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
    std::size_t n = 0;
    std::uint64_t value = 0;
    for (; n < rest_.size() && is_digit(rest_[n]); ++n) {
      const auto digit = static_cast<std::uint64_t>(rest_[n] - '0');
      value = value > (kMax - digit) / 10 ? kMax : value * 10 + digit;
    }
    if (n == 0) return false;
    out = value;
    take(n);
    return true;
  }

  // Digits with an optional fraction, as "12.34".
  bool decimal(double& out) {
    std::uint64_t whole = 0;
    if (!number(whole)) return false;
    double value = static_cast<double>(whole);
    if (skip('.')) {
      double scale = 0.1;
      for (; !rest_.empty() && is_digit(rest_.front()); take(1), scale /= 10) {
        value += scale * (rest_.front() - '0');
      }
    }
    out = value;
    return true;
  }

  bool skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    take(1);
    return true;
  }

  // As many as `out` holds.
  bool numbers(std::span<std::uint64_t> out) {
    return std::ranges::all_of(out, [this](std::uint64_t& value) { return number(value); });
  }

  bool skip_numbers(int count) {
    std::uint64_t ignored = 0;
    for (int i = 0; i < count; ++i) {
      if (!number(ignored)) return false;
    }
    return true;
  }

  // The rest of this line; the position moves to the start of the next.
  std::string_view line() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return take(rest_.size());
    const std::string_view text = take(end);
    take(1);
    return text;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  std::string_view take(std::size_t n) {
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  std::string_view rest_;
};

// Values of the lines "KEY value" or "KEY: value ..." whose keys are asked for; values[i] belongs
// to keys[i] and is left alone when its line is missing. Returns a bit per key that was found; at
// most 32 keys. Fastest when `keys` have the file's order.
std::uint32_t find_values(std::string_view text, std::span<const std::string_view> keys,
                          std::span<std::uint64_t> values);

}  // namespace corral::collect
