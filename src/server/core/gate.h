// The gate: access control. The transport calls decide() for every request, with its header and
// before its body is read; handlers do not check again.
//
// A page of another site can reach a loopback port through a browser. Host must name this server
// (against DNS rebinding); Origin, when sent, must be its own; and a request that changes something
// must not be one that a page of another site can send without a preflight: Sec-Fetch-Site must not
// name another site, and Content-Type must not be that of a form. With a token every TCP request
// but /health and /ready needs it: as a bearer, as the password of Basic (which MLflow's clients
// send for a user and password), or as the cookie that `/?token=` and `/?once=`
// (once_codes.h) set. The Unix socket, mode 0600,
// is this user's own and needs nothing. A store with users asks each of them for a token of their
// own, sent in the same ways; their role says what they may send (Route::needs). The page's own
// files need none. No I/O, any thread (fuzz/fuzz_http.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "server/core/accounts.h"
#include "server/core/http_types.h"
#include "server/core/once_codes.h"
#include "server/core/rate.h"

namespace corral::server {

struct GateRules {
  std::vector<std::string> hosts;  // addresses and names that the server is reached by, lower case;
                                   // loopback names are always allowed
  bool wildcard = false;           // listens on every address: any IP literal is allowed
  std::string token;               // empty: none asked for
  const Accounts* accounts = nullptr;  // null: no users
  const http::Tls* tls = nullptr;      // the names of its certificate are the server's, too
  OnceCodes* once = nullptr;           // null: none are taken
  Rate* sign_ins = nullptr;            // by address, as the next two; null: any number
  Rate* device_codes = nullptr;        // programs that ask to act for a user
  Rate* device_polls = nullptr;        // and that ask for the answer
  bool tokens_by_https = false;        // users' tokens count by HTTPS only, from a proxy in front
};

// Browsers take the name that is for HTTPS from this very host only. A neighbour of its domain
// could set the other one, and so sign a user in as somebody else.
inline constexpr std::string_view kTokenCookie = "corral_token";
inline constexpr std::string_view kSecureTokenCookie = "__Host-corral_token";

// The gate's decision.
struct Decision {
  std::optional<Response> answer;  // refuses, or for `/?token=` sets the cookie and redirects
  bool routed = false;             // it was found that the request has a route

  [[nodiscard]] bool allowed() const { return !answer.has_value(); }
};
Decision decide(const Request& request, const GateRules& rules);

// The token in the header Authorization, as a bearer or as the password of Basic; empty: none.
std::string header_token(const Request& request);

// The answer to a request whose token has ceased to count since the gate let it in.
Response token_is_gone(const Request& request);

// The user whose token the request carries; nullopt: it carries none that counts.
std::optional<Principal> principal_of(const Request& request, const Accounts& accounts);

// The header that keeps a token in a browser; an empty one makes it forget its token. `secure`: the
// browser sends it by HTTPS only.
std::string token_cookie(std::string_view token, bool secure);

// The token of a --token-file: its trimmed content, at least 16 of the characters that a bearer
// token may have.
Result<std::string> parse_token(std::string_view file_content);

// Compares in a time that does not depend on the contents.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace corral::server
