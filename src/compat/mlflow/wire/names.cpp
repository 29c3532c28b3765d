#include "compat/mlflow/wire/names.h"

#include <fmt/core.h>
#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <vector>

#include "compat/mlflow/wire/message.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

constexpr std::string_view kLetters =
    "Names may only contain alphanumerics, underscores (_), dashes (-), periods (.), spaces ( ), "
    "colon(:) and slashes (/).";

bool is_ascii_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Returns true for Unicode letters and digits.
bool is_unicode_alnum(char32_t c) {
  static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return unicode == nullptr || ::iswalnum_l(static_cast<wint_t>(c), unicode) != 0;
}

// The code point that starts `text`, which is UTF-8, and is taken off it.
char32_t next_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  char32_t point = length == 1 ? byte(0) : byte(0) & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < std::min(length, text.size()); ++i)
    point = point << 6U | (byte(i) & 0x3FU);
  text.remove_prefix(std::min(length, text.size()));
  return point;
}

bool has_key_letters_only(std::string_view key) {
  while (!key.empty()) {
    const char c = key.front();
    if (static_cast<unsigned char>(c) >= 0x80) {
      if (!is_unicode_alnum(next_point(key))) return false;
      continue;
    }
    if (!is_ascii_alnum(c) && std::string_view("_-.: /").find(c) == std::string_view::npos)
      return false;
    key.remove_prefix(1);
  }
  return true;
}

// posixpath.normpath.
std::string normal_path(std::string_view path) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (part != ".." || !path.starts_with('/')) {
      parts.push_back(part);
    }
  }
  std::string normal(path.starts_with("//") && !path.starts_with("///") ? "//"
                     : path.starts_with('/')                            ? "/"
                                                                        : "");
  for (std::size_t i = 0; i < parts.size(); ++i)
    normal += (i == 0 ? "" : "/") + std::string(parts[i]);
  return normal.empty() ? "." : normal;
}

}  // namespace

Answer<> check_key(std::string_view key, std::string_view path, std::string_view what) {
  if (!has_key_letters_only(key)) return invalid(invalid_value(path, Json(key), kLetters));
  const std::string normal = normal_path(key);
  if (normal != key || key == "." || key == ".." || key.starts_with("../") ||
      key.starts_with('/')) {
    return invalid(invalid_value(
        path, Json(key),
        fmt::format("Names may be treated as files in certain cases, and must not resolve to other "
                    "names when treated as such. This name would resolve to '{}'",
                    normal)));
  }
  if (code_points(key) > kKeyLength) {
    return invalid(
        fmt::format("'{}' exceeds the maximum length of {} characters", what, kKeyLength));
  }
  return {};
}

Answer<> check_experiment_name(std::string_view name) {
  if (name.empty()) return invalid("Invalid experiment name: ''");
  if (code_points(name) > kExperimentNameLength) {
    return invalid(
        fmt::format("'name' exceeds the maximum length of {} characters", kExperimentNameLength));
  }
  return {};
}

Answer<> check_run_id(std::string_view id) {
  const auto letter = [](char c) { return is_ascii_alnum(c) || c == '_' || c == '-'; };
  const bool good = !id.empty() && id.size() <= 256 && is_ascii_alnum(id.front()) &&
                    std::ranges::all_of(id, letter);
  if (!good) return invalid(invalid_value("run_id", Json(id)));
  return {};
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

Answer<> check_length(std::string_view path, std::string_view text, std::size_t most) {
  if (code_points(text) <= most) return {};
  return invalid(fmt::format("'{}' exceeds the maximum length of {} characters", path, most));
}

std::string_view cut(std::string_view text, std::size_t length) {
  if (text.size() <= length) return text;
  std::size_t points = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (points++ == length) return text.substr(0, i);
  }
  return text;
}

}  // namespace corral::mlflow
