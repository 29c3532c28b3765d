#include "server/gate.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/sha256.h"
#include "core/text.h"
#include "sys/http_client.h"
#include "sys/socket.h"

namespace corral::server {
namespace {

constexpr std::size_t kMinTokenBytes = 16;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return out;
}

// "LOCALHOST:5000" -> "localhost"; "[::1]:5000" -> "::1".
std::string host_without_port(std::string_view host) {
  if (host.starts_with('['))
    return lower(host.substr(1, std::min(host.find(']'), host.size()) - 1));
  std::string name = lower(host.substr(0, host.find(':')));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

bool host_allowed(std::string_view host, const GateRules& rules) {
  const std::string name = host_without_port(host);
  const bool literal = sys::is_ip_literal(name);
  if (name == "localhost" || name.ends_with(".localhost") || name == "::1") return true;
  if (literal && name.starts_with("127.")) return true;
  if (rules.wildcard && literal) return true;
  return std::ranges::find(rules.hosts, name) != rules.hosts.end();
}

// Its own: the scheme may be https behind a proxy that ends TLS; host and port are those that the
// client used, checked before.
bool origin_allowed(std::string_view origin, std::string_view host) {
  const std::string own = lower(host);
  const std::string sent = lower(origin);
  return sent == "http://" + own || sent == "https://" + own;
}

std::string_view bearer(const Request& request) {
  const std::string_view value = request.header("authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (value.size() <= kScheme.size() || lower(value.substr(0, kScheme.size())) != kScheme)
    return {};
  return trim(value.substr(kScheme.size()));
}

Response set_cookie_and_redirect(const Request& request, std::string_view token) {
  std::string location = request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    if (name == "token") continue;
    location += fmt::format("{}{}={}", separator, sys::url_encode(name), sys::url_encode(value));
    separator = '&';
  }
  // "//host" would lead to another site.
  location.erase(0, std::min(location.find_first_not_of('/'), location.size()));
  Response response;
  response.status = 303;
  response.set_header("Location", "/" + location);
  response.set_header("Set-Cookie",
                      fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", kTokenCookie, token));
  response.set_header("Cache-Control", "no-store");
  return response;
}

std::optional<Response> check_token(const Request& request, std::string_view token) {
  if (same_secret(bearer(request), token) || same_secret(request.cookie(kTokenCookie), token))
    return std::nullopt;
  const std::optional<std::string_view> offered = request.query_value("token");
  const bool page = request.method == Method::kGet && !request.path.starts_with("/api/");
  if (page && offered && same_secret(*offered, token))
    return set_cookie_and_redirect(request, token);
  Response response = error_response({Code::kUnauthenticated,
                                      "this server asks for a token: send 'Authorization: Bearer "
                                      "TOKEN', or open /?token=TOKEN in a browser"});
  response.set_header("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) {
  const Sha256 left = sha256(a);
  const Sha256 right = sha256(b);
  unsigned difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    difference |= static_cast<unsigned>(left[i] ^ right[i]);
  return difference == 0;
}

Result<std::string> parse_token(std::string_view file_content) {
  const std::string_view token = trim(file_content);
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~+/=").find(c) != std::string_view::npos;
  };
  if (token.size() < kMinTokenBytes || !std::ranges::all_of(token, allowed)) {
    return fail(Code::kInvalidArgument,
                fmt::format("a token has at least {} letters, digits or -._~+/= and nothing else",
                            kMinTokenBytes));
  }
  return std::string(token);
}

std::optional<Response> check_gate(const Request& request, const GateRules& rules) {
  if (request.over_unix) return std::nullopt;
  const std::string_view host = request.header("host");
  if (host.empty())
    return error_response({Code::kInvalidArgument, "the Host header is missing"}, {"Host", {}});
  if (!host_allowed(host, rules)) {
    return error_response(
        {Code::kPermission, fmt::format("'{}' is not a name of this server", to_utf8(host))},
        {"Host", {}});
  }
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !origin_allowed(origin, host)) {
    return error_response(
        {Code::kPermission, fmt::format("requests from '{}' are not allowed", to_utf8(origin))},
        {"Origin", {}});
  }
  return rules.token.empty() ? std::nullopt : check_token(request, rules.token);
}

}  // namespace corral::server
