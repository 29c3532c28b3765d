// The gate: who may talk to the server. Looked at with a request's header, before its body is read.
//
// A page of another site can reach a loopback port through a browser: Host must name this server
// (against DNS rebinding) and Origin, when sent, must be its own. With a token every TCP request
// needs it, as a bearer or as the cookie that `/?token=` sets. The Unix socket, mode 0600, is this
// user's own and needs nothing. Pure: no I/O, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "server/http/request.h"
#include "server/http/response.h"

namespace corral::server {

struct GateRules {
  std::vector<std::string> hosts;  // addresses and names that the server listens on, lower case;
                                   // loopback names are always allowed
  bool wildcard = false;           // listens on every address: any IP literal is allowed
  std::string token;               // empty: none asked for
};

inline constexpr std::string_view kTokenCookie = "corral_token";

// An answer that refuses (or, for `/?token=`, sets the cookie and redirects); nullopt lets the
// request in.
std::optional<Response> check_gate(const Request& request, const GateRules& rules);

// The token of a --token-file: its trimmed content, at least 16 of the characters that a bearer
// token may have.
Result<std::string> parse_token(std::string_view file_content);

// The same time whatever the texts hold.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace corral::server
