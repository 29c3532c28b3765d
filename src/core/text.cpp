#include "core/text.h"

#include <fmt/core.h>
#include <locale.h>

#include <algorithm>
#include <array>
#include <cwchar>
#include <numeric>

namespace corral {

std::optional<std::int64_t> parse_int(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::optional<double> parse_double(std::string_view text) {
  double d = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), d);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return d;
}

std::optional<double> parse_share(std::string_view text) {
  const bool percents = text.ends_with('%');
  const auto number = parse_double(trim(percents ? text.substr(0, text.size() - 1) : text));
  if (!number || (!percents && *number >= 1)) return std::nullopt;
  return percents ? *number / 100 : *number;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  constexpr std::string_view kPrefixes = "kMGT";
  double scale = 1;
  if (!unit.empty() && unit != "B") {
    const std::size_t power = kPrefixes.find(unit.front() == 'K' ? 'k' : unit.front());
    const std::string_view rest = unit.substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "iB"))
      return std::nullopt;
    for (std::size_t i = 0; i <= power; ++i) scale *= 1024;
  }
  if (number * scale > 9e18) return std::nullopt;
  return static_cast<std::int64_t>(number * scale);
}

std::string human_bytes(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Length of the valid UTF-8 sequence at the start of text, 0 when there is none (Unicode 15, table
// 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char c = byte(0);
  if (c < 0x80) return 1;
  const std::size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  if (c < 0xC2 || c > 0xF4 || text.size() < n) return 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (c == 0xE0) low = 0xA0;
  if (c == 0xED) high = 0x9F;
  if (c == 0xF0) low = 0x90;
  if (c == 0xF4) high = 0x8F;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < n; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return n;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t n = utf8_length(bytes);
    out.append(n == 0 ? kReplacement : bytes.substr(0, n));
    bytes.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

namespace {

// Control characters and invalid UTF-8 (`bytes` is one character or one invalid byte).
std::optional<std::string> escaped(std::string_view bytes, bool valid) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (bytes == "\n") return "\\n";
  if (bytes == "\t") return "\\t";
  if (bytes == "\r") return "\\r";
  if (!valid || first < 0x20 || first == 0x7F) return fmt::format("\\x{:02x}", first);
  if (bytes.size() == 2 && first == 0xC2 && static_cast<unsigned char>(bytes[1]) < 0xA0)
    return fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[1]));  // U+0080 to U+009F
  // Marks, embeddings, overrides and isolates of the writing direction; separators of lines.
  if (bytes == "\u061C") return "\\u061c";
  constexpr std::string_view kGeneralPunctuation = "\xE2\x80";
  constexpr std::string_view kIsolates = "\xE2\x81";
  if (bytes.size() != 3) return std::nullopt;
  const auto last = static_cast<unsigned char>(bytes[2]);
  if (bytes.starts_with(kGeneralPunctuation) &&
      (last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE)))
    return fmt::format("\\u20{:02x}", last - 0x80);
  if (bytes.starts_with(kIsolates) && last >= 0xA6 && last <= 0xAF)
    return fmt::format("\\u20{:02x}", last - 0x40);
  return std::nullopt;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(n, 1));
    const auto written = escaped(character, n > 0);
    out.append(written ? std::string_view(*written) : character);
    text.remove_prefix(character.size());
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) out += printable(line) + '\n';
  out.pop_back();
  return out;
}

std::size_t utf8_prefix(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t n = utf8_length(bytes.substr(at));
    if (n == 0) break;
    at += n;
  }
  return at;
}

bool is_utf8(std::string_view bytes) { return utf8_prefix(bytes) == bytes.size(); }

std::size_t incomplete_utf8_tail(std::string_view bytes) {
  for (std::size_t n = 1; n <= 3 && n <= bytes.size(); ++n) {
    const auto c = static_cast<unsigned char>(bytes[bytes.size() - n]);
    if (c < 0x80) return 0;
    if (c < 0xC0) continue;  // in the middle of a character
    const std::size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    return length > n ? n : 0;
  }
  return 0;
}

namespace {

// Returns the columns of a character of several bytes as the C library knows them; -1: it knows
// none. Programs run in the locale "C", which knows ASCII only.
int columns_of(std::string_view character) {
  static const ::locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return 1;
  const ::locale_t before = ::uselocale(utf8);
  wchar_t code = 0;
  std::mbstate_t state{};
  const std::size_t read = std::mbrtowc(&code, character.data(), character.size(), &state);
  const int columns = read == character.size() ? ::wcwidth(code) : -1;
  ::uselocale(before);
  return columns;
}

}  // namespace

Glyph first_glyph(std::string_view text) {
  const std::size_t n = utf8_length(text);
  if (n == 0) return {.known = false};
  if (n == 1) return {};
  const int columns = columns_of(text.substr(0, n));
  if (columns < 0) return {.bytes = n, .columns = 1, .known = false};
  return {.bytes = n, .columns = static_cast<std::size_t>(columns)};
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    width += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return width;
}

namespace {

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) < 0x20) {
    out.append(fmt::format("\\u{:04x}", static_cast<unsigned>(c)));
  } else {
    out.push_back(c);
  }
}

}  // namespace

std::string escaped_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    if (n == 1) {
      append_escaped(out, text.front());
    } else {
      out.append(n == 0 ? kReplacement : text.substr(0, n));
    }
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  out.push_back('"');
}

namespace {

// One pattern item at p against c: {matched, length of the item}.
std::pair<bool, std::size_t> match_item(std::string_view p, char c) {
  if (p.front() == '?') return {true, 1};
  const std::size_t close = p.front() == '[' ? p.find(']', 2) : std::string_view::npos;
  if (close == std::string_view::npos) return {p.front() == c, 1};
  std::string_view set = p.substr(1, close - 1);
  const bool negated = set.front() == '!' || set.front() == '^';
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool range = i + 2 < set.size() && set[i + 1] == '-';
    found = found || (range ? set[i] <= c && c <= set[i + 2] : set[i] == c);
    if (range) i += 2;
  }
  return {found != negated, close + 1};
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_n = n;
      continue;
    }
    if (p < pattern.size()) {
      const auto [matched, length] = match_item(pattern.substr(p), name[n]);
      if (matched) {
        p += length;
        ++n;
        continue;
      }
    }
    if (star == std::string_view::npos) return false;
    p = star + 1;
    n = ++star_n;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator, from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i]);
  }
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view word, const std::vector<std::string_view>& known,
                         std::size_t most) {
  const auto distance = [&](std::string_view name) { return edit_distance(word, name); };
  const auto best = std::ranges::min_element(known, {}, distance);
  return best != known.end() && distance(*best) <= most ? std::string(*best) : std::string();
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string near = nearest_name(word, known);
  return near.empty() ? near : fmt::format("; did you mean '{}'?", near);
}

}  // namespace corral
