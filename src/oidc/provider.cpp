#include "oidc/provider.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "core/base64.h"
#include "core/ids.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "http/request.h"
#include "sys/clock.h"
#include "sys/socket.h"

namespace corral::oidc {
namespace {

constexpr std::size_t kMostAnswer = 1u << 20;  // bytes
constexpr std::size_t kMostError = 50;
constexpr Nanos kLasts = std::chrono::hours(1);
constexpr Nanos kFailureLasts = std::chrono::seconds(5);
constexpr Nanos kKeysPause = std::chrono::minutes(1);
constexpr std::string_view kHttps = "https://";
constexpr std::string_view kHttp = "http://";

// An address of HTTPS, or of this machine.
bool is_safe(std::string_view url) {
  const auto plain = [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (!std::ranges::all_of(url, plain) || url.find('@') != std::string_view::npos) return false;
  if (url.starts_with(kHttps)) return url.size() > kHttps.size() && url[kHttps.size()] != '/';
  if (!url.starts_with(kHttp)) return false;
  const std::string_view rest = url.substr(kHttp.size());
  const std::string host = http::host_without_port(rest.substr(0, rest.find_first_of("/?#")));
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && sys::is_ip_literal(host));
}

std::string random_text() { return RunId::random().hex() + RunId::random().hex(); }

std::string form(const std::vector<std::pair<std::string_view, std::string_view>>& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    if (!out.empty()) out += '&';
    out += std::string(name) + "=" + sys::url_encode(value);
  }
  return out;
}

// The reason in an answer with an error (RFC 6749, 5.2): a word. The rest of it may repeat what was
// sent, with the client's secret.
std::string error_of(std::string_view body) {
  const auto json = Json::parse(body);
  const std::string error = json ? json->get_string("error") : std::string();
  const auto of_a_word = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return error.size() <= kMostError && std::ranges::all_of(error, of_a_word) ? error : "";
}

}  // namespace

Attempt Attempt::make() {
  return {.state = random_text(), .nonce = random_text(), .verifier = random_text()};
}

std::string Attempt::text() const { return state + "." + nonce + "." + verifier; }

std::optional<Attempt> Attempt::parse(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 3 || std::ranges::any_of(parts, &std::string_view::empty))
    return std::nullopt;
  return Attempt{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

Result<std::unique_ptr<Provider>> Provider::make(Options options) {
  if (!is_safe(options.issuer) || options.issuer.find_first_of("?#") != std::string::npos) {
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is no issuer: expected the address of a provider of OpenID "
                            "Connect, https://...",
                            to_utf8(options.issuer)));
  }
  return std::unique_ptr<Provider>(new Provider(std::move(options)));
}

std::string Provider::host() const {
  const std::size_t begin = options_.issuer.find("//") + 2;
  return options_.issuer.substr(begin, options_.issuer.find('/', begin) - begin);
}

// A redirect is an error: libcurl follows none.
Result<std::string> Provider::ask(const std::string& url, const sys::HttpRequest& request) const {
  sys::HttpClient client(
      {.base_url = url, .unix_socket = "", .token = "", .ca_file = options_.ca_file});
  std::string body;
  const auto keep = [&](std::string_view piece) {
    body.append(piece);
    return body.size() <= kMostAnswer;
  };
  const int status = TRY(client.stream(request, keep));
  if (status == 200) return body;
  const std::string error = error_of(body);
  const bool refused = status == 400 || status == 401;
  return fail(refused ? Code::kUnauthenticated : Code::kUnavailable,
              fmt::format("{} answered {}{}{}", url, status, error.empty() ? "" : ": ", error));
}

Result<Provider::Document> Provider::read_document() const {
  std::string root = options_.issuer;
  if (root.ends_with('/')) root.pop_back();
  const std::string url = root + "/.well-known/openid-configuration";
  const std::string text = TRY(ask(url, {.path = "", .body = {}, .timeout = kPatience}));
  const auto json = Json::parse(text);
  const auto wrong = [&](std::string_view what) {
    return fail(Code::kUnavailable, fmt::format("{}: {}", url, what));
  };
  if (!json) return wrong("no JSON");
  if (const std::string issuer = json->get_string("issuer"); issuer != options_.issuer) {
    return wrong(fmt::format("its issuer is '{}', not '{}' as --oidc-issuer says", to_utf8(issuer),
                             options_.issuer));
  }
  Document document{.authorization = json->get_string("authorization_endpoint"),
                    .token = json->get_string("token_endpoint"),
                    .keys = json->get_string("jwks_uri"),
                    .user_info = json->get_string("userinfo_endpoint")};
  const std::string& about = document.user_info.empty() ? document.token : document.user_info;
  for (const std::string& address : {document.authorization, document.token, document.keys, about})
    if (!is_safe(address) || (url.starts_with(kHttps) && !address.starts_with(kHttps)))
      return wrong("an address in it is missing, or not of HTTPS");
  if (const Json* ways = json->find("token_endpoint_auth_methods_supported");
      ways != nullptr && ways->as_array() != nullptr) {
    const auto has = [&](std::string_view way) {
      return std::ranges::any_of(*ways->as_array(), [&](const Json& one) {
        return one.as_string() != nullptr && *one.as_string() == way;
      });
    };
    document.secret_in_body = !has("client_secret_basic") && has("client_secret_post");
  }
  return document;
}

Result<Provider::Document> Provider::document() {
  const Lock lock(mutex_);
  const BootTime now = sys::boot_now();
  if (now < document_until_ && document_) return *document_;
  if (now < document_until_ && unreachable_) return tl::unexpected(*unreachable_);
  Result<Document> read = read_document();
  if (read) document_ = *read;
  unreachable_ = read ? std::nullopt : std::optional(read.error());
  document_until_ = sys::boot_now() + (read ? kLasts : kFailureLasts);
  // One of before is as good while the provider cannot tell.
  return document_ ? Result<Document>(*document_) : read;
}

Result<Keys> Provider::read_keys(const Document& where) const {
  const std::string text = TRY(ask(where.keys, {.path = "", .body = {}, .timeout = kPatience}));
  return Keys::parse(text);
}

Result<std::string> Provider::verified(std::string_view token, const Document& where) {
  const Lock lock(mutex_);
  const BootTime now = sys::boot_now();
  if (!keys_ || now >= keys_until_) {
    keys_ = TRY(read_keys(where));
    keys_until_ = now + kLasts;
  }
  Result<std::string> claims = verify_signature(token, *keys_);
  if (claims || now < keys_stay_) return claims;
  keys_stay_ = now + kKeysPause;
  keys_ = TRY(read_keys(where));
  return verify_signature(token, *keys_);
}

Result<std::string> Provider::authorize_url(const Attempt& attempt, std::string_view redirect) {
  const Document where = TRY(document());
  const Sha256 digest = sha256(attempt.verifier);
  const std::string challenge =
      base64url({reinterpret_cast<const char*>(digest.data()), digest.size()});
  const char joint = where.authorization.find('?') == std::string::npos ? '?' : '&';
  return where.authorization + joint +
         form({{"response_type", "code"},
               {"client_id", options_.client},
               {"redirect_uri", redirect},
               {"scope", "openid profile email"},
               {"state", attempt.state},
               {"nonce", attempt.nonce},
               {"code_challenge", challenge},
               {"code_challenge_method", "S256"}});
}

Result<std::string> Provider::exchange(std::string_view code, const Attempt& attempt,
                                       std::string_view redirect, const Document& where) const {
  std::vector<std::pair<std::string_view, std::string_view>> fields = {
      {"grant_type", "authorization_code"},
      {"code", code},
      {"redirect_uri", redirect},
      {"code_verifier", attempt.verifier}};
  sys::HttpFields headers = {{"Accept", "application/json"}};
  if (!options_.secret.empty() && !where.secret_in_body) {
    const std::string pair =
        sys::url_encode(options_.client) + ":" + sys::url_encode(options_.secret);
    headers.emplace_back("Authorization", "Basic " + base64(pair));
  } else {
    fields.emplace_back("client_id", options_.client);
    if (!options_.secret.empty()) fields.emplace_back("client_secret", options_.secret);
  }
  const std::string body = form(fields);
  return ask(where.token, {.method = "POST",
                           .path = "",
                           .body = body,
                           .content_type = "application/x-www-form-urlencoded",
                           .timeout = kPatience,
                           .headers = headers});
}

Result<Claims> Provider::redeem(std::string_view code, const Attempt& attempt,
                                std::string_view redirect) {
  const Document where = TRY(document());
  const std::string answer = TRY(exchange(code, attempt, redirect, where));
  const auto json = Json::parse(answer);
  const std::string token = json ? json->get_string("id_token") : std::string();
  if (token.empty())
    return fail(Code::kUnavailable, "the provider's answer to the code has no id_token");
  const std::string signed_claims = TRY(verified(token, where));
  Claims who = TRY(check_claims(signed_claims,
                                {.issuer = options_.issuer,
                                 .client = options_.client,
                                 .nonce = attempt.nonce,
                                 .groups = options_.groups},
                                sys::utc_now()));
  const std::string access = json->get_string("access_token");
  const auto visible = [](char c) { return c > ' ' && c < '\x7f'; };
  const bool usable = !access.empty() && std::ranges::all_of(access, visible);
  const bool complete = !who.username.empty() && !who.email.empty() && !who.groups.empty();
  if (complete || where.user_info.empty() || !usable) return who;
  const auto about = ask(where.user_info, {.path = "",
                                           .body = {},
                                           .timeout = kPatience,
                                           .headers = {{"Authorization", "Bearer " + access}}});
  // With a name, only groups are missing: then there are none.
  if (!about && !who.username.empty()) return who;
  if (!about) return tl::unexpected(about.error());
  TRY(add_user_info(who, *about, options_.groups));
  return who;
}

}  // namespace corral::oidc
