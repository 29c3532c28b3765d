#include "compat/mlflow/wire/filter_tokens.h"

#include <algorithm>
#include <cstddef>

namespace corral::mlflow {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Letters of any script: every byte of a character beyond ASCII counts as one.
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_operator(char c) { return std::string_view("<>=~!").find(c) != std::string_view::npos; }

std::size_t digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// Behind the number that starts at `at`; `at` itself if none does.
std::size_t number_end(std::string_view text, std::size_t at) {
  std::size_t start = at;
  if (start < text.size() && text[start] == '-') ++start;
  std::size_t end = digits(text, start);
  bool any = end > start;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = digits(text, end + 1);
    any = any || fraction > end + 1;
    end = fraction;
  }
  if (!any) return at;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && text[exponent] == '-') ++exponent;
    if (const std::size_t last = digits(text, exponent); last > exponent) end = last;
  }
  return end < text.size() && is_word(text[end]) ? at : end;
}

// Behind the quoted part that starts at `at`; npos if it has no end. A doubled quote does not end
// it, nor does \' or \" unless no other quote follows.
std::size_t quoted_end(std::string_view text, std::size_t at) {
  const char quote = text[at];
  std::size_t fallback = std::string_view::npos;
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote != '`' && i + 1 < text.size() && text[i + 1] == quote) {
      fallback = i + 2;
      ++i;
    } else if (text[i] == quote) {
      if (i + 1 == text.size() || text[i + 1] != quote) return i + 1;
      ++i;
    }
  }
  return fallback;
}

// Behind one part of a name; `at` itself if there is none, npos if a quote has no end.
std::size_t part_end(std::string_view text, std::size_t at, std::string_view quotes) {
  if (at == text.size()) return at;
  if (quotes.find(text[at]) != std::string_view::npos) return quoted_end(text, at);
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}

Token name_at(std::string_view text, std::size_t at) {
  std::size_t end = part_end(text, at, "`\"");
  while (end < text.size() && text[end] == '.') {
    const std::size_t next = part_end(text, end + 1, "`\"'");
    if (next == end + 1) break;
    end = next;
  }
  if (end == std::string_view::npos) return {Token::Kind::kOther, text.substr(at)};
  return {Token::Kind::kName, text.substr(at, end - at)};
}

Token token_at(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (const std::size_t end = number_end(text, at); end > at)
    return {Token::Kind::kNumber, text.substr(at, end - at)};
  if (is_word(c) || c == '`' || c == '"') return name_at(text, at);
  if (c == '\'') {
    const std::size_t end = quoted_end(text, at);
    if (end == std::string_view::npos) return {Token::Kind::kOther, text.substr(at)};
    return {Token::Kind::kText, text.substr(at, end - at)};
  }
  if (is_operator(c)) {
    std::size_t end = at;
    while (end < text.size() && is_operator(text[end])) ++end;
    return {Token::Kind::kOperator, text.substr(at, end - at)};
  }
  return {Token::Kind::kOther, text.substr(at, 1)};
}

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    tokens.push_back(token_at(text, at));
    at += tokens.back().text.size();
  }
  return tokens;
}

}  // namespace corral::mlflow
