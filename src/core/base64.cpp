#include "core/base64.h"

#include <algorithm>
#include <cstdint>

namespace corral {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int sextet(char c) {
  if (c == '-') c = '+';
  if (c == '_') c = '/';
  const std::size_t at = kLetters.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < group.size() ? static_cast<std::uint8_t>(group[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      out += i > group.size() ? '=' : kLetters[bits >> (18 - 6 * i) & 63];
  }
  return out;
}

std::string base64url(std::string_view bytes) {
  std::string out = base64(bytes);
  out.erase(out.find_last_not_of('=') + 1);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

Result<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const int value = sextet(c);
    if (value < 0) return fail(Code::kInvalidArgument, "not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count);
  }
  if (count >= 6) return fail(Code::kInvalidArgument, "not base64");
  return out;
}

}  // namespace corral
