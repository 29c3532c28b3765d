#include "compat/mlflow/wire/artifact_path.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::mlflow {
namespace {

constexpr int kMostRounds = 10;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode_once(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && text.size() - i > 2;
    const int high = escape ? hex_digit(text[i + 1]) : -1;
    const int low = escape ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      out.push_back(text[i]);
      continue;
    }
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

tl::unexpected<Error> bad_path(std::string_view path, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("Invalid path: '{}' {}", to_utf8(path), why));
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool has_drive(std::string_view path) {
  const bool letter =
      !path.empty() && ((path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z'));
  return letter && path.substr(1).starts_with(":/");
}

// Returns true if the undecoded text leads out of its root by any system's rules.
bool leads_out(std::string_view text) {
  if (text.starts_with('/') || text.starts_with('\\') || has_drive(text)) return true;
  for (const std::string_view part : split(text, '/')) {
    for (const std::string_view segment : split(part, '\\')) {
      if (segment == "..") return true;
    }
  }
  return false;
}

Result<> check_segments(std::string_view path) {
  for (const std::string_view segment : split(path, '/')) {
    if (segment.empty()) return bad_path(path, "holds an empty name");
    if (segment == "." || segment == "..") return bad_path(path, "holds '.' or '..'");
  }
  return {};
}

}  // namespace

Result<std::string> artifact_path(std::string_view text) {
  if (!is_utf8(text)) return bad_path(text, "is not UTF-8");
  if (std::ranges::any_of(text, is_control)) return bad_path(text, "holds a control character");
  if (text.find_first_of("#\\") != std::string_view::npos)
    return bad_path(text, "holds '#' or a backslash");
  std::string decoded(text);
  for (int round = 0;; ++round) {
    if (leads_out(decoded)) return bad_path(text, "leads out of the artifacts");
    std::string next = decode_once(decoded);
    if (next == decoded) break;
    if (round == kMostRounds) return bad_path(text, "is percent-encoded too often");
    decoded = std::move(next);
  }
  if (text.ends_with('/')) text.remove_suffix(1);
  if (!text.empty()) TRY(check_segments(text));
  return std::string(text);
}

}  // namespace corral::mlflow
