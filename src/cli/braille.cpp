#include "cli/braille.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

namespace corral::cli {
namespace {

constexpr int kTop = 3;
constexpr int kFlat = 1;  // height of a constant
// By column, then by height.
constexpr std::array<std::array<unsigned, kTop + 1>, 2> kDots = {
    {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}};

// U+2800 and the dots above it.
std::string braille(unsigned dots) {
  if (dots == 0) return " ";
  return {'\xE2', static_cast<char>(0xA0U + (dots >> 6U)),
          static_cast<char>(0x80U + (dots & 0x3FU))};
}

struct Limits {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
};

// Halves: the difference of two values may be too great for a number.
int height(double value, const Limits& limits) {
  if (limits.low == limits.high) return kFlat;
  const double share = (value / 2 - limits.low / 2) / (limits.high / 2 - limits.low / 2);
  return std::clamp(static_cast<int>(std::lround(share * kTop)), 0, kTop);
}

bool is_drawn(const std::optional<double>& value) { return value && std::isfinite(*value); }

}  // namespace

std::string braille_line(std::span<const std::optional<double>> values, std::size_t columns) {
  Limits limits;
  for (const std::optional<double>& value : values) {
    if (!is_drawn(value)) continue;
    limits = {.low = std::min(limits.low, *value), .high = std::max(limits.high, *value)};
  }
  std::vector<unsigned> cells(columns, 0);
  std::optional<int> before;
  for (std::size_t x = 0; !values.empty() && x < 2 * columns; ++x) {
    const std::optional<double>& value = values[x * values.size() / (2 * columns)];
    const auto at = is_drawn(value) ? std::optional(height(*value, limits)) : before;
    for (int h = 0; at && h <= kTop; ++h) {
      const bool joins = before && ((*before < h && h < *at) || (*at < h && h < *before));
      if (h == *at || joins) cells[x / 2] |= kDots[x % 2][static_cast<std::size_t>(h)];
    }
    before = at;
  }
  std::string line;
  for (const unsigned dots : cells) line += braille(dots);
  return line;
}

std::string share_bar(double share, std::size_t columns) {
  constexpr std::array<std::string_view, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(
      std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(columns) * 8));
  std::string text;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t filled = std::min<std::size_t>(eighths - std::min(eighths, 8 * i), 8);
    text += filled == 8 ? "█" : filled > 0 ? kParts[filled] : "░";
  }
  return text;
}

}  // namespace corral::cli
