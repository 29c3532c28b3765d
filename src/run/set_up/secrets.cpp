#include "run/set_up/secrets.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/text.h"
#include "run/set_up/fact.h"

namespace corral::run::set_up {
namespace {

// Words of names, joined by dashes. A name is a secret's if it is one of these, ends with one of
// kEndings behind a dash, or ends with one of kWords after any letters ("PGPASSWORD").
constexpr auto kNames = std::to_array<std::string_view>(
    {"authorization", "cookie", "hf-token", "hub-token", "huggingface-token", "jwt",
     "neptune-token", "proxy-authorization", "sshpass", "token", "wandb-key", "x-amz-signature",
     "x-goog-signature"});
constexpr auto kEndings = std::to_array<std::string_view>(
    {"access-key",   "access-token", "account-key",    "api-key",       "api-token",
     "auth-token",   "bearer-token", "bot-token",      "credential",    "credentials",
     "github-token", "gitlab-token", "private-key",    "private-token", "refresh-token",
     "sas-token",    "secret-key",   "security-token", "session-token", "signing-key"});
constexpr auto kWords =
    std::to_array<std::string_view>({"apikey", "passphrase", "passwd", "password", "secret"});
// Endings of variables only, which are written in capitals: A_TOKEN, but not PAD_TOKEN.
constexpr auto kCapitals = std::to_array<std::string_view>({"-pass", "-pwd", "-token"});
constexpr auto kNoSecrets = std::to_array<std::string_view>(
    {"audio", "begin", "bos", "cls", "end", "eos",     "first", "image", "last", "mask",
     "max",   "next",  "pad", "per", "sep", "special", "start", "stop",  "unk",  "video"});
// Headers, whose value has several words.
constexpr auto kHeaders =
    std::to_array<std::string_view>({"authorization", "cookie", "proxy-authorization"});
// Names in the query of an address.
constexpr auto kInQuery = std::to_array<std::string_view>({"key", "sig", "signature"});

constexpr auto kHints = std::to_array<std::string_view>(
    {"KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "JWT", "COOKIE"});

constexpr std::size_t kTokenBytes = 20;
constexpr std::size_t kKeyKindBytes = 32;  // "ENCRYPTED PRIVATE KEY-----"
constexpr std::size_t kKeyBytes = 16u << 10;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_name(char c) {
  return is_upper(c) || is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool ends_line(char c) { return c == '\n' || c == '\r'; }
bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

// Returns "api-key" for "apiKey", "API_KEY" and "api.key".
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

// The position of a value behind a name.
struct Value {
  std::size_t begin = 0, end = 0;
};

std::size_t skip_blanks(std::string_view line, std::size_t at) {
  while (at < line.size() && is_blank(line[at])) ++at;
  return at;
}

// Returns the position behind the '=' in `token: str = "x"`; `at` if no type follows the colon.
std::size_t behind_type(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && (in_name(line[end]) ||
                               std::string_view(" []|,").find(line[end]) != std::string_view::npos))
    ++end;
  const bool assigns = end > at && end + 1 < line.size() && line[end] == '=' &&
                       line[end - 1] == ' ' && line[end + 1] == ' ';
  return assigns ? skip_blanks(line, end + 1) : at;
}

// Returns the position of the value behind a name; nullopt if there is none.
std::optional<std::size_t> behind_separator(std::string_view line, std::size_t at, bool option) {
  const auto is = [&](std::size_t i, char c) { return i < line.size() && line[i] == c; };
  if (is(at, '\\')) ++at;  // {\"token\": \"…\"}
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

// The form of a name's value.
struct Shape {
  bool option = false;  // the value follows an option
  bool header = false;  // the value is the rest of the line
  bool query = false;   // the value ends at '&'
};

// Finds a text in quotes that begins at `at`; in triple quotes it may have several lines.
std::optional<Value> quoted_value(std::string_view text, std::size_t at, bool escaped) {
  const std::string three(3, text[at]);
  if (text.substr(at, 3) == three) {
    const std::size_t end = text.find(three, at + 3);
    return Value{at + 3, std::min(end, text.size())};
  }
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != text[at] && !ends_line(text[end]))
    end += !escaped && text[end] == '\\' && end + 1 < text.size() ? 2 : 1;
  if (escaped && end > at + 1 && text[end - 1] == '\\') --end;
  return end > at + 1 ? std::optional(Value{at + 1, std::min(end, text.size())}) : std::nullopt;
}

// Finds a text in quotes, or everything up to a blank. A call or an index is code, not a value.
std::optional<Value> value_at(std::string_view text, std::size_t at, Shape shape) {
  std::size_t quote = at;  // behind the letters of r"…", rb"…", f"…"
  while (quote < text.size() && quote < at + 2 &&
         std::string_view("rRbBfFuU").find(text[quote]) != std::string_view::npos)
    ++quote;
  const bool escaped = quote + 1 < text.size() && text[quote] == '\\' && is_quote(text[quote + 1]);
  if (escaped) ++quote;
  if (quote < text.size() && is_quote(text[quote])) return quoted_value(text, quote, escaped);
  const auto ends = [&](std::size_t i) {
    const char c = text[i];
    const bool last = i + 1 == text.size() || is_blank(text[i + 1]) || ends_line(text[i + 1]);
    return is_blank(c) || ends_line(c) || is_quote(c) || ((c == ',' || c == ';') && last) ||
           (shape.query && (c == '&' || c == '#'));
  };
  std::size_t end = at;
  while (end < text.size() && !ends(end)) ++end;
  const std::string_view value = text.substr(at, end - at);
  if (value.empty() || value == kMask || (shape.option && value.front() == '-') ||
      value == "None" || value == "null" || value.find_first_of("()[]{}") != std::string_view::npos)
    return std::nullopt;
  if (shape.header)
    while (end < text.size() && !ends_line(text[end]) && !is_quote(text[end])) ++end;
  return Value{at, end};
}

// Finds the first value behind a secret's name from `at` on.
std::optional<Value> next_value(std::string_view line, std::size_t at) {
  while (at < line.size()) {
    if (!in_name(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && in_name(line[end])) ++end;
    Shape shape{.option = line.substr(at, end - at).starts_with("--"),
                .query = at > 0 && (line[at - 1] == '?' || line[at - 1] == '&')};
    std::string_view name = line.substr(at, end - at);
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    at = end;
    const auto begin = behind_separator(line, end, shape.option);
    if (!begin) continue;  // first: most names have no value
    const bool in_query = shape.query && std::ranges::find(kInQuery, name) != kInQuery.end();
    if (!in_query && !names_secret(name)) continue;
    shape.header = std::ranges::find(kHeaders, spelled(name)) != kHeaders.end();
    const auto value = value_at(line, *begin, shape);
    if (value) return value;
  }
  return std::nullopt;
}

// "password" of "db/password", "+db password" and "--password".
std::string_view last_part(std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && in_name(name[begin - 1])) --begin;
  name.remove_prefix(begin);
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return name;
}

// True for a literal value, false for a name or a placeholder: "HF_TOKEN", "${TOKEN}", "<token>".
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
  const auto ends = [&](std::string_view ending) { return spelling.ends_with(ending); };
  // The last words.
  const auto ends_as_words = [&](std::string_view ending) {
    return ends(ending) && (spelling.size() == ending.size() ||
                            spelling[spelling.size() - ending.size() - 1] == '-');
  };
  if (std::ranges::find(kNames, spelling) != kNames.end() || std::ranges::any_of(kWords, ends))
    return true;
  if (std::ranges::any_of(kEndings, ends_as_words)) return true;
  return std::ranges::none_of(name, is_lower) && std::ranges::any_of(kCapitals, ends) &&
         std::ranges::none_of(kNoSecrets, [&](std::string_view word) {
           return ends_as_words(std::string(word) + "-token");
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
    // A long user name without a password is a token: https://ghp_…@github.com
    if (host == std::string_view::npos || (!password && host < kTokenBytes)) continue;
    if (password) out.append(text.substr(user, colon + 1));
    out.append(kMask);
    at = user + host;
    ++masked_;
  }
}

// -----BEGIN RSA PRIVATE KEY----- … -----END
std::string Mask::keys(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kPrivate = "PRIVATE KEY-----";
  std::string out;
  for (std::size_t at = 0;;) {
    std::size_t key = text.find(kBegin, at);
    if (key == std::string_view::npos) return out.append(text.substr(at));
    key += kBegin.size();
    const std::size_t is_private = text.substr(key, kKeyKindBytes).find(kPrivate);
    if (is_private != std::string_view::npos) key += is_private + kPrivate.size();
    out.append(text.substr(at, key - at));
    at = key;
    const std::size_t end = text.substr(key, kKeyBytes).find("-----END");
    if (is_private == std::string_view::npos || end == std::string_view::npos) continue;
    out.append(kMask);
    at = key + end;
    ++masked_;
  }
}

std::string Mask::named(std::string_view line) {
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
  return on_ ? addresses(named(keys(text))) : std::string(text);
}

std::vector<std::string> Mask::words(std::vector<std::string> words) {
  bool value = false;  // the word is the value of the option before it
  bool line = false;   // the word is a shell's script, behind -c or -lc
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
    // A script may begin with a variable; the rest of it is no secret.
    const bool shell = std::exchange(
        line, word.size() > 1 && word[0] == '-' && word[1] != '-' && word.ends_with('c'));
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

NamedValues Mask::params(NamedValues params) {
  if (!on_) return params;
  constexpr std::string_view kCell = "params";
  std::vector<std::string> secrets;
  for (auto& [name, value] : params) {
    if (name == kCell) continue;
    if (value.empty() || !names_secret(last_part(name))) {
      value = text(value);
      continue;
    }
    ++masked_;
    secrets.push_back(std::exchange(value, std::string(kMask)));
  }
  for (auto& [name, value] : params) {
    if (name != kCell) continue;
    for (const std::string& secret : secrets) {
      const std::size_t at = value.find(secret);
      // Quoted or spaced in another way there: nothing of it is safe to show.
      if (at == std::string::npos)
        value = kMask;
      else
        value.replace(at, secret.size(), kMask);
    }
    value = text(value);
  }
  return params;
}

void add_masked(std::string_view part, const Mask& mask, std::vector<codec::Fact>& facts) {
  if (mask.masked() > 0)
    facts.push_back(info("masked." + std::string(part), static_cast<std::int64_t>(mask.masked())));
}

// ---- Files with secrets

namespace {

constexpr std::string_view kCredentials = "looks like credentials";
constexpr auto kSecretFiles = std::to_array<std::string_view>({".env*",
                                                               "*.env",
                                                               "*.pem",
                                                               "*.key",
                                                               "*.p12",
                                                               "*.pfx",
                                                               "*.jks",
                                                               "*.keystore",
                                                               "*.kdbx",
                                                               "*.ppk",
                                                               "*.keytab",
                                                               "id_rsa*",
                                                               "id_dsa*",
                                                               "id_ecdsa*",
                                                               "id_ed25519*",
                                                               ".netrc",
                                                               "_netrc",
                                                               ".npmrc",
                                                               ".pypirc",
                                                               ".pgpass",
                                                               ".htpasswd",
                                                               ".git-credentials",
                                                               ".dockercfg",
                                                               "kaggle.json",
                                                               "credentials*",
                                                               "secrets.*",
                                                               "client_secret*",
                                                               "*service_account*.json",
                                                               "*service-account*.json",
                                                               "*serviceaccount*.json"});
constexpr auto kSecretFolders =
    std::to_array<std::string_view>({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure"});

constexpr std::size_t kLongestLine = 64u << 10;  // longer lines are searched in parts
constexpr std::size_t kLeastDigitsOfAws = 16;

bool is_word(char c) { return is_upper(c) || is_lower(c) || is_digit(c) || c == '_'; }

struct TokenForm {
  std::string_view prefix;
  std::size_t least;   // least number of characters behind the prefix
  bool dashes;         // dashes may be among them
  bool mixed = false;  // it must have a capital, a small letter and a digit
};
constexpr auto kTokens = std::to_array<TokenForm>({{"AKIA", kLeastDigitsOfAws, false},
                                                   {"ASIA", kLeastDigitsOfAws, false},
                                                   {"ghp_", 30, false},
                                                   {"gho_", 30, false},
                                                   {"ghu_", 30, false},
                                                   {"ghs_", 30, false},
                                                   {"ghr_", 30, false},
                                                   {"github_pat_", 22, false},
                                                   {"hf_", 30, false, true},
                                                   {"sk-", 20, true, true},
                                                   {"xoxa-", 10, true},
                                                   {"xoxb-", 10, true},
                                                   {"xoxp-", 10, true},
                                                   {"xoxr-", 10, true},
                                                   {"xoxs-", 10, true},
                                                   {"glpat-", 20, true}});

bool has_form(std::string_view rest, const TokenForm& form) {
  std::size_t end = 0;
  while (end < rest.size() && (is_word(rest[end]) || (form.dashes && rest[end] == '-'))) ++end;
  const std::string_view body = rest.substr(0, end);
  if (body.size() < form.least) return false;
  // Amazon's tokens have only capitals and digits, and exactly this length.
  if (form.least == kLeastDigitsOfAws)
    return body.size() == form.least &&
           std::ranges::all_of(body, [](char c) { return is_upper(c) || is_digit(c); });
  return !form.mixed ||
         (std::ranges::any_of(body, is_upper) && std::ranges::any_of(body, is_lower) &&
          std::ranges::any_of(body, is_digit));
}

bool holds_token(std::string_view line) {
  return std::ranges::any_of(kTokens, [&](const TokenForm& form) {
    for (std::size_t at = line.find(form.prefix); at != std::string_view::npos;
         at = line.find(form.prefix, at + 1)) {
      const bool begins = at == 0 || (!is_word(line[at - 1]) && line[at - 1] != '-');
      if (begins && has_form(line.substr(at + form.prefix.size()), form)) return true;
    }
    return false;
  });
}

bool begins_key(std::string_view line) {
  const std::size_t begin = line.find("-----BEGIN ");
  return begin != std::string_view::npos &&
         line.find("PRIVATE KEY", begin) != std::string_view::npos;
}

bool ends_key(std::string_view line) { return line.find("-----END ") != std::string_view::npos; }

}  // namespace

std::string_view refused_name(std::string_view path) {
  const auto parts = split(path, '/');
  const std::string name = lower_ascii(parts.back());
  const bool named = std::ranges::any_of(
      kSecretFiles, [&](std::string_view pattern) { return glob_match(pattern, name); });
  const bool inside = std::ranges::any_of(parts.begin(), parts.end() - 1, [](std::string_view p) {
    return std::ranges::find(kSecretFolders, p) != kSecretFolders.end();
  });
  return named || inside ? kCredentials : std::string_view();
}

void SecretScan::add(std::string_view piece) {
  if (!reason_.empty()) return;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t end = piece.find('\n', at);
    open_ += piece.substr(at, end == std::string_view::npos ? end : end - at);
    at = end == std::string_view::npos ? piece.size() : end + 1;
    if (end == std::string_view::npos && open_.size() < kLongestLine) return;
    line(open_);
    open_.clear();
  }
}

std::string_view SecretScan::finish() {
  line(open_);
  open_.clear();
  return reason_;
}

void SecretScan::line(std::string_view line) {
  if (!reason_.empty() || line.empty()) return;
  if (begins_key(line))
    reason_ = "holds a private key";
  else if (holds_token(line))
    reason_ = "holds a token";
  else if (literals_ && holds_secret(line))
    reason_ = "holds a password or token in quotes; --no-mask keeps it";
}

std::string DiffScan::line(std::string_view line) {
  if (begins_key(line)) in_key_ = true;
  const bool hide = in_key_ || holds_token(line);
  if (in_key_ && (ends_key(line) || line.starts_with("diff --git "))) in_key_ = false;
  if (!hide || line.empty() || line.starts_with("diff --git ")) return std::string(line);
  return std::string(line.substr(0, 1)) + std::string(kMask);
}

}  // namespace corral::run::set_up
