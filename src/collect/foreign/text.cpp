#include "collect/foreign/text.h"

#include <charconv>
#include <cmath>

#include "core/text.h"

namespace corral::collect::foreign {
namespace {

// The number at the text's front, which loses it.
std::optional<double> take_number(std::string_view& text) {
  std::string_view rest = text;
  if (rest.size() > 1 && rest.front() == '+' && rest[1] != '-') rest.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return std::nullopt;
  text = rest.substr(static_cast<std::size_t>(end - rest.data()));
  return value;
}

}  // namespace

std::optional<double> read_number(std::string_view text) {
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

std::optional<NumberWithUnit> read_number_with_unit(std::string_view text) {
  text = trim(text);
  const auto value = take_number(text);
  if (!value) return std::nullopt;
  const std::string_view unit = trim(text);
  // "12:30", "1.2.3", "2026-11-22", "10/100" are no numbers with a unit.
  constexpr std::string_view kNotFirst = "0123456789.,:;-+/_=()[]{}";
  if (!unit.empty() && kNotFirst.find(unit.front()) != std::string_view::npos) return std::nullopt;
  if (unit.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  return NumberWithUnit{.value = *value, .unit = unit};
}

std::optional<std::int64_t> to_step(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(std::abs(value) <= kExact) || value != std::trunc(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kBytes = 80;
  text = trim(text);
  std::string shown = to_utf8(text.substr(0, kBytes));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text.size() > kBytes ? shown + "..." : shown;
}

}  // namespace corral::collect::foreign
