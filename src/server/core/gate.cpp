#include "server/core/gate.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>

#include <algorithm>

#include "core/base64.h"
#include "core/sha256.h"
#include "core/text.h"
#include "server/core/door.h"
#include "server/core/router.h"
#include "sys/clock.h"
#include "sys/http_client.h"
#include "sys/socket.h"

namespace corral::server {
namespace {

constexpr std::size_t kMinTokenBytes = 16;
constexpr std::int64_t kMostOfAnyone = 4096;  // bytes of a body
constexpr std::string_view kSignInPaths = "/auth/";

bool host_allowed(std::string_view host, const GateRules& rules) {
  const std::string name = http::host_without_port(host);
  if (name.empty()) return false;
  const bool literal = sys::is_ip_literal(name);
  if (name == "localhost" || name.ends_with(".localhost") || name == "::1") return true;
  if (literal && name.starts_with("127.")) return true;
  if (rules.wildcard && literal) return true;
  return std::ranges::find(rules.hosts, name) != rules.hosts.end() ||
         (rules.tls != nullptr && rules.tls->covers(name));
}

// Its own: host and port are those that the client used, checked before. The scheme may be https
// behind a proxy that ends TLS, of which this server was not told.
bool origin_allowed(const Request& request, std::string_view origin) {
  const std::string own = lower_ascii(request.header("host"));
  const std::string sent = lower_ascii(origin);
  return sent == "https://" + own || (sent == "http://" + own && !request.over_tls);
}

bool changes_something(const Request& request) {
  return request.method != Method::kGet && request.method != Method::kHead;
}

// Content types that browsers send to other sites without a preflight.
bool is_form(std::string_view content_type) {
  const std::string kind = lower_ascii(trim(content_type.substr(0, content_type.find(';'))));
  return kind == "text/plain" || kind == "application/x-www-form-urlencoded" ||
         kind == "multipart/form-data";
}

// The text after "<scheme> " in Authorization; empty when it has another scheme.
std::string_view credentials(const Request& request, std::string_view scheme) {
  const std::string_view value = request.header("authorization");
  const std::size_t space = std::min(value.find(' '), value.size());
  if (!equal_ignoring_case(value.substr(0, space), scheme)) return {};
  return trim(value.substr(space));
}

// The password of "user:password" in base64; empty for anything else.
std::string basic_password(std::string_view encoded) {
  const std::string text = from_base64(encoded).value_or("");
  const std::size_t colon = text.find(':');
  return colon == std::string::npos ? std::string() : text.substr(colon + 1);
}

Response set_cookie_and_redirect(const Request& request, std::string_view token) {
  std::string location = request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    if (name == "token" || name == "once") continue;
    location += fmt::format("{}{}={}", separator, sys::url_encode(name), sys::url_encode(value));
    separator = '&';
  }
  // "//host" would lead to another site.
  location.erase(0, std::min(location.find_first_not_of('/'), location.size()));
  Response response;
  response.status = 303;
  response.set_header("Location", "/" + location);
  response.set_header("Set-Cookie", token_cookie(token, request.over_tls));
  response.set_header("Cache-Control", "no-store");
  return response;
}

std::optional<Response> check_host(const Request& request, const GateRules& rules) {
  const std::string_view host = request.header("host");
  if (host.empty())
    return refusal(request, {Code::kInvalidArgument, "the Host header is missing"}, "Host");
  if (host_allowed(host, rules)) return std::nullopt;
  return refusal(
      request,
      {Code::kPermission, fmt::format("Invalid Host header: '{}' is not a name of this server "
                                      "(corral serve --allow-host NAME adds one)",
                                      to_utf8(host))},
      "Host");
}

Response form_refused(const Request& request) {
  if (door::owns(request.path)) {
    return refusal(request, {Code::kInvalidArgument,
                             "Bad Request. Content-Type must be one of ['application/json']."});
  }
  Response response =
      refusal(request,
              {Code::kUnsupported,
               "forms and plain text are not taken: send Content-Type: application/json"},
              "Content-Type");
  response.status = 415;
  return response;
}

std::optional<Response> check_origin(const Request& request) {
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !origin_allowed(request, origin)) {
    return refusal(
        request,
        {Code::kPermission, fmt::format("requests from '{}' are not allowed", to_utf8(origin))},
        "Origin");
  }
  if (!changes_something(request)) return std::nullopt;
  // A page on another port of this machine is "same-site": not ours either.
  const std::string_view site = request.header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return refusal(request,
                   {Code::kPermission, "pages of other sites may not change anything here"},
                   "Sec-Fetch-Site");
  }
  // Among the methods that change something, only POST can be sent without a preflight.
  if (request.method == Method::kPost && is_form(request.header("content-type")))
    return form_refused(request);
  return std::nullopt;
}

// A browser sends the cookie by itself, but it also names the site of the page that asks.
std::optional<Response> check_cookie_alone(const Request& request) {
  const bool page_known =
      !request.header("origin").empty() || !request.header("sec-fetch-site").empty();
  if (page_known || !changes_something(request)) return std::nullopt;
  return refusal(request,
                 {Code::kPermission,
                  "with the cookie alone nothing can be changed: send Origin as well, or "
                  "'Authorization: Bearer TOKEN'"},
                 "Origin");
}

Response ask_for_token(const Request& request, std::string message) {
  Response response = refusal(request, {Code::kUnauthenticated, std::move(message)});
  // Not Basic, which it also takes: browsers would ask for a password, and then send it with every
  // request that any page makes.
  response.set_header("WWW-Authenticate", "Bearer");
  return response;
}

// The tokens of a request; the first one that it has counts.
struct OfferedTokens {
  std::string_view bearer;
  std::string basic;
  std::string_view cookie;
};
// A browser sends the cookie for HTTPS by HTTPS only, which a proxy may have ended.
OfferedTokens offered_tokens(const Request& request) {
  std::string_view cookie = request.cookie(kSecureTokenCookie);
  if (cookie.empty() && !request.over_tls) cookie = request.cookie(kTokenCookie);
  return {.bearer = credentials(request, "bearer"),
          .basic = basic_password(credentials(request, "basic")),
          .cookie = cookie};
}

// Bodies of nobody in particular take little memory: they are read before it is known who sends
// them.
std::optional<Response> check_size(const Request& request) {
  if (!changes_something(request)) return std::nullopt;
  const auto length = parse_int(request.header("content-length"));
  const bool plain =
      request.header("transfer-encoding").empty() && request.header("content-encoding").empty();
  const bool none = request.header("content-length").empty();
  if (plain && (none || (length && *length <= kMostOfAnyone))) return std::nullopt;
  return refusal(request, {Code::kTooLarge,
                           fmt::format("without a token a body has at most {} bytes, plain and "
                                       "with Content-Length",
                                       kMostOfAnyone)});
}

// A token that came past the proxy was readable on the way.
std::optional<Response> check_way(const Request& request, const GateRules& rules, Role needed) {
  const bool brings_none = needed == Role::kAnyone && !changes_something(request) &&
                           !request.path.starts_with(kSignInPaths);
  if (!rules.tokens_by_https || request.over_tls || brings_none) return std::nullopt;
  return refusal(request, {Code::kPermission,
                           "tokens count by HTTPS alone here: ask the proxy in front, which must "
                           "send 'X-Forwarded-Proto: https'"});
}

// The key of a client's bucket: of IPv6 the network, in which one host has all addresses.
std::string client_key(const std::string& address) {
  in6_addr bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), &bytes) != 1 || IN6_IS_ADDR_V4MAPPED(&bytes))
    return address;
  return std::string(reinterpret_cast<const char*>(bytes.s6_addr), 8);
}

// The limit of a request that anyone may send, by address. Without an address, sign-ins are not
// limited (a lab behind one proxy), and the others have one bucket together.
Rate* rate_of(const Request& request, const GateRules& rules) {
  const bool posted = request.method == Method::kPost;
  if (request.path.starts_with(kSignInPaths) ||
      (posted && request.path == "/api/corral/v1/sign-in"))
    return request.peer.empty() ? nullptr : rules.sign_ins;
  if (!posted) return nullptr;
  if (request.path == "/api/corral/v1/device-codes") return rules.device_codes;
  return request.path == "/api/corral/v1/device-tokens" ? rules.device_polls : nullptr;
}

// Slows down guesses at the page's form, and bounds what they leave in the store.
std::optional<Response> check_rate(const Request& request, const GateRules& rules) {
  Rate* rate = rate_of(request, rules);
  if (rate == nullptr) return std::nullopt;
  const auto wait = rate->take(client_key(request.peer), sys::boot_now());
  if (!wait) return std::nullopt;
  return too_many(request, "sign-ins from your address", *wait);
}

std::optional<Response> check_user(const Request& request, const GateRules& rules, Role needed) {
  if (auto no = check_way(request, rules, needed)) return no;
  if (needed == Role::kAnyone) {
    if (auto no = check_size(request)) return no;
    return check_rate(request, rules);
  }
  const auto principal = principal_of(request, *rules.accounts);
  if (!principal) {
    return ask_for_token(
        request,
        "this server asks for a token of yours, which an admin makes by 'corral token add': send "
        "'Authorization: Bearer TOKEN' (MLflow's clients: MLFLOW_TRACKING_TOKEN), or sign in at "
        "the page");
  }
  if (principal->role < needed) {
    return refusal(
        request, {Code::kPermission,
                  fmt::format("'{}' has the role {} here; this needs the role {}", principal->user,
                              role_name(principal->role), role_name(needed))});
  }
  return request.header("authorization").empty() ? check_cookie_alone(request) : std::nullopt;
}

bool asks_for_page(const Request& request) {
  return request.method == Method::kGet && !request.path.starts_with("/api/") &&
         !door::owns(request.path);
}

// A link on a page of another site would sign its reader in as somebody else.
std::optional<Response> take_code(const Request& request, const GateRules& rules) {
  const std::optional<std::string_view> code = request.query_value("once");
  const std::string_view site = request.header("sec-fetch-site");
  const bool by_user = site.empty() || site == "none";
  if (!code || !by_user || rules.once == nullptr || !asks_for_page(request)) return std::nullopt;
  const auto token = rules.once->take(*code, sys::boot_now());
  if (!token) return std::nullopt;
  return set_cookie_and_redirect(request, *token);
}

std::optional<Response> check_token(const Request& request, std::string_view token) {
  // For probes, and they say nothing.
  if (request.path == "/health" || request.path == "/ready") return std::nullopt;
  const OfferedTokens sent = offered_tokens(request);
  if (same_secret(sent.bearer, token) || same_secret(sent.basic, token)) return std::nullopt;
  if (same_secret(sent.cookie, token)) return check_cookie_alone(request);
  const std::optional<std::string_view> offered = request.query_value("token");
  if (asks_for_page(request) && offered && same_secret(*offered, token))
    return set_cookie_and_redirect(request, token);
  return ask_for_token(request,
                       "this server asks for a token: send 'Authorization: Bearer TOKEN' "
                       "(MLflow's clients: MLFLOW_TRACKING_TOKEN), or open /?token=TOKEN in a "
                       "browser");
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) {
  return same_secret_bytes(sha256(a), sha256(b));
}

std::string token_cookie(std::string_view token, bool secure) {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}{}",
                     secure ? kSecureTokenCookie : kTokenCookie, token,
                     token.empty() ? "; Max-Age=0" : "", secure ? "; Secure" : "");
}

std::string header_token(const Request& request) {
  const OfferedTokens sent = offered_tokens(request);
  return sent.bearer.empty() ? sent.basic : std::string(sent.bearer);
}

Response token_is_gone(const Request& request) {
  return refusal(request, {Code::kUnauthenticated, "this token does not count any more"});
}

std::optional<Principal> principal_of(const Request& request, const Accounts& accounts) {
  if (request.over_unix) return Principal{.user = "", .role = Role::kAdmin};
  const UtcTime now = sys::utc_now();
  const OfferedTokens sent = offered_tokens(request);
  if (auto found = accounts.who(sent.bearer, now)) return found;
  if (auto found = accounts.who(sent.basic, now)) return found;
  // A client that names a token means that one, not the cookie that its browser adds.
  if (!request.header("authorization").empty()) return std::nullopt;
  return accounts.who(sent.cookie, now);
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

Decision decide(const Request& request, const GateRules& rules) {
  if (request.over_unix) return {};
  if (auto no = check_host(request, rules)) return {.answer = std::move(no)};
  if (auto no = check_origin(request)) return {.answer = std::move(no)};
  if (auto signed_in = take_code(request, rules)) return {.answer = std::move(signed_in)};
  if (rules.accounts != nullptr && rules.accounts->required()) {
    const std::optional<Role> needed = role_for(request);
    return {.answer = check_user(request, rules, needed.value_or(Role::kReader)),
            .routed = needed.has_value()};
  }
  if (rules.token.empty()) return {};
  return {.answer = check_token(request, rules.token)};
}

}  // namespace corral::server
