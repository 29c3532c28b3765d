// Prints comparisons as filter text, for the filter's tests and its fuzz target: parse_filter reads
// the text back into the same comparisons.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "compat/mlflow/wire/filter.h"
#include "compat/mlflow/wire/filter_grammar.h"

namespace corral::mlflow::testing {

// The text in the first of these quotes in which it stays one token.
inline std::string quoted(std::string_view text, std::string_view quotes, std::string_view prefix) {
  for (const char quote : quotes) {
    // Quotes that stand around the whole text would be taken off.
    if (quote == ' ' && !text.empty() && text.front() == text.back() &&
        !std::isalnum(static_cast<unsigned char>(text.front())))
      continue;
    std::string out(prefix);
    if (quote == ' ') {
      out.append(text);
    } else {
      out.append(1, quote).append(text).append(1, quote);
    }
    const auto tokens = tokenize(out);
    if (tokens.size() == 1 && tokens.front().text == out &&
        tokens.front().kind != Token::Kind::kOther)
      return out;
  }
  return std::string(prefix) + std::string(text);
}

inline std::string list_text(const std::vector<std::string>& values) {
  std::string out = "(";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ", ";
    out += '\'';
    for (const char c : value) {
      if (c == '\'' || c == '\\') out += '\\';
      out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    out += '\'';
  }
  return out + ")";
}

inline std::string name_text(SearchKind kind, Entity entity, std::string_view key) {
  if (entity == Entity::kAttribute) return std::string(key);
  for (const EntityRule& rule : rules_for(kind).entities) {
    if (rule.entity == entity) return quoted(key, " `\"'", std::string(rule.name) + ".");
  }
  return std::string(key);
}

// Returns true if the printed comparisons can be parsed again: a text that ends with a backslash
// ends at its quote only if no such quote follows.
inline bool printable(const std::vector<Comparison>& comparisons) {
  const auto ends_badly = [](const std::string& text) { return text.ends_with('\\'); };
  return std::ranges::none_of(comparisons, [&](const Comparison& c) {
    const auto* text = std::get_if<std::string>(&c.value);
    const auto* list = std::get_if<std::vector<std::string>>(&c.value);
    return ends_badly(c.key) || (text != nullptr && ends_badly(*text)) ||
           (list != nullptr && std::ranges::any_of(*list, ends_badly));
  });
}

inline std::string print_filter(SearchKind kind, const std::vector<Comparison>& comparisons) {
  std::string out;
  for (const Comparison& c : comparisons) {
    if (!out.empty()) out += " AND ";
    out += fmt::format("{} {}", name_text(kind, c.entity, c.key), operator_text(c.op));
    if (const auto* text = std::get_if<std::string>(&c.value))
      out += " " + quoted(*text, "'\"", "");
    if (const auto* whole = std::get_if<std::int64_t>(&c.value)) out += fmt::format(" {}", *whole);
    if (const auto* real = std::get_if<double>(&c.value)) {
      std::string digits = fmt::format("{}", *real);
      if (digits.find("inf") != std::string::npos) digits = *real > 0 ? "1e999" : "-1e999";
      if (const auto plus = digits.find('+'); plus != std::string::npos) digits.erase(plus, 1);
      if (c.entity != Entity::kMetric && digits.find_first_of(".e") == std::string::npos)
        digits += ".0";
      out += " " + digits;
    }
    if (const auto* list = std::get_if<std::vector<std::string>>(&c.value))
      out += " " + list_text(*list);
  }
  return out;
}

inline std::string print_orders(SearchKind kind, const std::vector<Order>& orders) {
  std::string out;
  for (const Order& o : orders) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_text(kind, o.entity, o.key),
                       o.ascending ? "ASC" : "DESC");
  }
  return out;
}

}  // namespace corral::mlflow::testing
