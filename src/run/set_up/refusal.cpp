#include "run/set_up/refusal.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "run/set_up/secrets.h"

namespace corral::run::set_up {
namespace {

constexpr std::string_view kCredentials = "looks like credentials";
constexpr auto kNames = std::to_array<std::string_view>({".env*",
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
constexpr auto kFolders =
    std::to_array<std::string_view>({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure"});

constexpr std::size_t kLongestLine = 64u << 10;  // longer lines are searched in parts
constexpr std::size_t kLeastDigitsOfAws = 16;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
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
      kNames, [&](std::string_view pattern) { return glob_match(pattern, name); });
  const bool inside = std::ranges::any_of(parts.begin(), parts.end() - 1, [](std::string_view p) {
    return std::ranges::find(kFolders, p) != kFolders.end();
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
