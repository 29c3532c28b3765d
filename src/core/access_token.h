// Access tokens: what the programs of a user send instead of a name and a password.
//
//   corral_pat_<id, 10 hex digits>_<secret, 64 hex digits><checksum, 6 hex digits>
//
// The secret is 256 random bits, so a plain SHA-256 of the text is enough to keep instead of it.
// The checksum tells a mistyped token from a revoked one, and lets scanners find leaked ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace corral {

struct AccessToken {
  std::string id;    // names it in lists; no secret
  std::string text;  // the whole token
};

AccessToken make_access_token();

// The id in a text of this form; nullopt for any other text. Does not look at the checksum.
std::optional<std::string_view> access_token_id(std::string_view text);

// The text begins as these tokens do, but is cut or mistyped: its form or checksum is wrong.
bool is_mistyped_access_token(std::string_view text);

}  // namespace corral
