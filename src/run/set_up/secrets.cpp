#include "run/set_up/secrets.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "run/set_up/fact.h"

namespace corral::run::set_up {
namespace {

// Words of names, joined by dashes. A name is a secret's when it is one of these, or ends with one
// of kEndings behind a dash.
constexpr auto kNames = std::to_array<std::string_view>(
    {"apikey", "authorization", "bearer-token", "api-token", "github-token", "gitlab-token",
     "hf-token", "hub-token", "huggingface-token", "jwt", "neptune-token", "session-token", "token",
     "wandb-key"});
constexpr auto kEndings = std::to_array<std::string_view>(
    {"access-key", "access-token", "api-key", "auth-token", "credential", "credentials",
     "passphrase", "passwd", "password", "private-key", "secret", "secret-key"});

constexpr auto kHints = std::to_array<std::string_view>(
    {"KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "JWT", "COOKIE"});

constexpr std::size_t kTokenBytes = 20;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_name(char c) {
  return is_upper(c) || is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

// "apiKey", "API_KEY" and "api.key" as "api-key".
std::string spelled(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool word = i > 0 && is_upper(c) && (is_lower(name[i - 1]) || is_digit(name[i - 1]));
    if (word) out += '-';
    out += c == '_' || c == '.' ? '-' : is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// A value behind a name: where it begins and ends.
struct Value {
  std::size_t begin = 0, end = 0;
};

std::size_t skip_blanks(std::string_view line, std::size_t at) {
  while (at < line.size() && is_blank(line[at])) ++at;
  return at;
}

// Of `token: str = "x"`: behind the '='. Where no type follows the colon, `at`.
std::size_t behind_type(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && (in_name(line[end]) ||
                               std::string_view(" []|,").find(line[end]) != std::string_view::npos))
    ++end;
  const bool assigns = end > at && end + 1 < line.size() && line[end] == '=' &&
                       line[end - 1] == ' ' && line[end + 1] == ' ';
  return assigns ? skip_blanks(line, end + 1) : at;
}

// Where the value behind a name begins; nothing where none follows.
std::optional<std::size_t> behind_separator(std::string_view line, std::size_t at, bool option) {
  const auto is = [&](std::size_t i, char c) { return i < line.size() && line[i] == c; };
  const bool quoted = at < line.size() && is_quote(line[at]);
  if (quoted) ++at;
  if (quoted && is(at, ']')) ++at;  // environ["HF_TOKEN"] = …
  const std::size_t behind = skip_blanks(line, at);
  if (is(behind, '=') && !is(behind + 1, '=')) return skip_blanks(line, behind + 1);
  if (is(behind, ':')) return behind_type(line, skip_blanks(line, behind + 1));
  if (quoted && is(behind, ',')) {  // setdefault("HF_TOKEN", "…")
    const std::size_t next = skip_blanks(line, behind + 1);
    return next < line.size() && is_quote(line[next]) ? std::optional(next) : std::nullopt;
  }
  return option && behind > at ? std::optional(behind) : std::nullopt;
}

// A text in quotes, or all up to a blank. What calls or indexes something is code, not a value.
std::optional<Value> value_at(std::string_view line, std::size_t at, bool option) {
  if (at >= line.size()) return std::nullopt;
  if (is_quote(line[at])) {
    const std::size_t end = line.find(line[at], at + 1);
    if (end == std::string_view::npos) return Value{at + 1, line.size()};
    return end > at + 1 ? std::optional(Value{at + 1, end}) : std::nullopt;
  }
  std::size_t end = at;
  while (end < line.size() && !is_blank(line[end]) && !is_quote(line[end]) && line[end] != ',' &&
         line[end] != ';')
    ++end;
  const std::string_view value = line.substr(at, end - at);
  if (value.empty() || value == kMask || (option && value.front() == '-') || value == "None" ||
      value == "null" || value.find_first_of("()[]{}") != std::string_view::npos)
    return std::nullopt;
  return Value{at, end};
}

// The first value behind a secret's name from `at` on.
std::optional<Value> next_value(std::string_view line, std::size_t at) {
  while (at < line.size()) {
    if (!in_name(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && in_name(line[end])) ++end;
    const bool option = line.substr(at, end - at).starts_with("--");
    std::string_view name = line.substr(at, end - at);
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    at = end;
    if (!names_secret(name)) continue;
    const auto begin = behind_separator(line, end, option);
    const auto value = begin ? value_at(line, *begin, option) : std::nullopt;
    if (value) return value;
  }
  return std::nullopt;
}

// Written out, not a name or a place for one: "HF_TOKEN", "${TOKEN}", "<token>".
bool is_literal(std::string_view line, const Value& value) {
  constexpr std::size_t kLeast = 8;
  const std::string_view text = line.substr(value.begin, value.end - value.begin);
  const bool quoted = value.begin > 0 && is_quote(line[value.begin - 1]) &&
                      value.end < line.size() && line[value.end] == line[value.begin - 1];
  return quoted && text.size() >= kLeast && std::ranges::none_of(text, is_blank) &&
         std::string_view("$<{%[").find(text.front()) == std::string_view::npos &&
         text.find(kMask) == std::string_view::npos && !names_secret(text);
}

}  // namespace

bool names_secret(std::string_view name) {
  if (!std::ranges::all_of(name, in_name)) return false;
  const std::string spelling = spelled(name);
  if (std::ranges::find(kNames, spelling) != kNames.end()) return true;
  return std::ranges::any_of(kEndings, [&](std::string_view ending) {
    return spelling == ending || spelling.ends_with("-" + std::string(ending));
  });
}

bool hints_at_secret(std::string_view variable) {
  return std::ranges::any_of(
      kHints, [&](std::string_view part) { return variable.find(part) != std::string_view::npos; });
}

bool holds_secret(std::string_view line) {
  for (auto value = next_value(line, 0); value; value = next_value(line, value->end))
    if (is_literal(line, *value)) return true;
  return false;
}

// scheme://user:password@host
std::string Mask::addresses(std::string_view text) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t scheme = text.find("://", at);
    if (scheme == std::string_view::npos) return out.append(text.substr(at));
    const std::size_t user = scheme + 3;
    const std::size_t end = std::min(text.find_first_of("/?# \t\n\"'<>", user), text.size());
    const std::size_t host = text.substr(user, end - user).rfind('@');
    const std::size_t colon = text.substr(user, end - user).find(':');
    out.append(text.substr(at, user - at));
    at = user;
    const bool password = host != std::string_view::npos && colon < host;
    // A long name alone is a token: https://ghp_…@github.com
    if (host == std::string_view::npos || (!password && host < kTokenBytes)) continue;
    if (password) out.append(text.substr(user, colon + 1));
    out.append(kMask);
    at = user + host;
    ++masked_;
  }
}

std::string Mask::line(std::string_view line) {
  std::string out;
  std::size_t copied = 0;
  for (auto value = next_value(line, 0); value; value = next_value(line, value->end)) {
    out.append(line.substr(copied, value->begin - copied)).append(kMask);
    copied = value->end;
    ++masked_;
  }
  return out.append(line.substr(copied));
}

std::string Mask::text(std::string_view text) {
  if (!on_) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += line(text.substr(at, end - at));
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return addresses(out);
}

std::vector<std::string> Mask::words(std::vector<std::string> words) {
  bool value = false;  // of the option before
  for (std::string& word : words) {
    const bool is_value = std::exchange(value, false) && !word.starts_with('-');
    if (on_ && is_value) {
      word = kMask;
      ++masked_;
      continue;
    }
    const std::string_view name =
        std::string_view(word).substr(std::min(word.find_first_not_of('-'), word.size()));
    value = word.starts_with('-') && names_secret(name);
    const std::size_t equals = name.find('=');
    // A line of a shell may begin with a variable; the rest of it is no secret.
    const bool shell = !word.starts_with('-') && word.find(' ') != std::string::npos;
    if (on_ && !shell && equals != std::string_view::npos && names_secret(name.substr(0, equals)) &&
        equals + 1 < name.size()) {
      word.replace(word.size() - (name.size() - equals - 1), std::string::npos, kMask);
      ++masked_;
    } else {
      word = text(word);
    }
  }
  return words;
}

void add_masked(std::string_view part, const Mask& mask, std::vector<codec::Fact>& facts) {
  if (mask.masked() > 0)
    facts.push_back(info("masked." + std::string(part), static_cast<std::int64_t>(mask.masked())));
}

}  // namespace corral::run::set_up
