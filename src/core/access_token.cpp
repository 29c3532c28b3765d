#include "core/access_token.h"

#include <fmt/core.h>

#include "core/ids.h"
#include "core/sha256.h"

namespace corral {
namespace {

constexpr std::string_view kPrefix = "corral_pat_";
constexpr std::size_t kIdDigits = 10;
constexpr std::size_t kSecretDigits = 64;
constexpr std::size_t kChecksumBytes = 3;
constexpr std::size_t kChecked = kPrefix.size() + kIdDigits + 1 + kSecretDigits;

std::string checksum(std::string_view checked) { return hex(sha256(checked), kChecksumBytes); }

}  // namespace

AccessToken make_access_token() {
  AccessToken token{.id = hex(detail::random_id_bytes()).substr(0, kIdDigits), .text = {}};
  token.text = fmt::format("{}{}_{}{}", kPrefix, token.id, hex(detail::random_id_bytes()),
                           hex(detail::random_id_bytes()));
  token.text += checksum(token.text);
  return token;
}

std::optional<std::string_view> access_token_id(std::string_view text) {
  if (text.size() != kChecked + 2 * kChecksumBytes || !text.starts_with(kPrefix) ||
      text[kPrefix.size() + kIdDigits] != '_')
    return std::nullopt;
  return text.substr(kPrefix.size(), kIdDigits);
}

bool is_mistyped_access_token(std::string_view text) {
  return text.starts_with(kPrefix) &&
         (!access_token_id(text) || text.substr(kChecked) != checksum(text.substr(0, kChecked)));
}

}  // namespace corral
