#include "cli/config_syntax.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/text.h"

namespace corral::cli {
namespace {

// A value without its comment, and how it is written.
struct Value {
  std::string text;
  bool open = false;       // a quote or bracket is not closed
  bool hash = false;       // a # within quotes, which the reader takes for a comment
  std::size_t quotes = 0;  // quoted texts outside arrays
};

// Looks at one character outside quotes; false: the comment begins.
bool take_plain(char c, Value& value, char& quote, int& depth) {
  if (c == '#') return false;
  if (c == '"' || c == '\'') {
    quote = c;
    if (depth == 0) ++value.quotes;
  }
  if (c == '[') ++depth;
  if (c == ']') --depth;
  return true;
}

Value value_of(std::string_view text) {
  Value value;
  char quote = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0) {
      if (!take_plain(c, value, quote, depth)) {
        text = text.substr(0, i);
        break;
      }
    } else if (c == '\\' && quote == '"') {
      ++i;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '#') {
      value.hash = true;
    }
  }
  value.text = trim(text);
  value.open = quote != 0 || depth != 0;
  return value;
}

bool is_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_.\"'").find(c) != std::string_view::npos;
  });
}

// Returns the problem of the value; empty: none.
std::string_view wrong_with(const Value& value) {
  if (value.open) return "has a quote or bracket that is not closed";
  if (value.text.empty()) return "has no value";
  if (value.hash) return "has a # in its value, which begins a comment";
  const char first = value.text.front();
  const char last = value.text.back();
  if (first == '[') return last == ']' ? "" : "has something after its value";
  if (first == '"' || first == '\'')
    return value.quotes == 1 && last == first ? "" : "has something after its value";
  if (value.quotes > 0 || value.text.find_first_of(" \t") != std::string::npos)
    return "has several words: put the value in quotes";
  return "";
}

// `line` begins it; takes more lines of `in` while an array is open, counting them.
std::string_view wrong_with_line(std::string_view line, std::istream& in, int& number) {
  if (line.front() == '[') {
    const std::string section = value_of(line).text;
    // The reader needs it alone on its line.
    const bool good =
        section == line && line.back() == ']' && is_key(line.substr(1, line.size() - 2));
    return good ? "" : "is not a section: expected [name], alone on its line";
  }
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || !is_key(trim(line.substr(0, equals))))
    return "is neither [section] nor option = value";
  std::string text(trim(line.substr(equals + 1)));
  std::string more;
  while (text.starts_with('[') && value_of(text).open && std::getline(in, more)) {
    text = value_of(text).text + value_of(more).text;
    ++number;
  }
  return wrong_with(value_of(text));
}

}  // namespace

Result<std::vector<ConfigLine>> config_lines(std::istream& in) {
  std::vector<ConfigLine> lines;
  std::string section;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    const std::string_view line = trim(text);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    const int first = number;
    const std::string_view wrong = wrong_with_line(line, in, number);
    if (!wrong.empty())
      return fail(Code::kInvalidArgument, fmt::format("{}: '{}' {}", first, line, wrong));
    const bool opens = line.front() == '[';
    if (opens) section = line.substr(1, line.size() - 2);
    std::string option(opens ? "" : trim(line.substr(0, line.find('='))));
    std::erase_if(option, [](char c) { return c == '"' || c == '\''; });
    lines.push_back({.number = first, .section = section, .option = std::move(option)});
  }
  return lines;
}

}  // namespace corral::cli
