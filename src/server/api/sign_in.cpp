// The ways in which a browser gets a token: one that its user has, or by signing in at a provider
// of OpenID Connect (oidc/provider.h). Sign-ins there are a session: a token of a day, deleted at
// sign-out.
#include <fmt/core.h>

#include <algorithm>

#include "core/access_token.h"
#include "core/base64.h"
#include "core/json.h"
#include "core/text.h"
#include "oidc/provider.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "server/core/accounts.h"
#include "server/core/events.h"
#include "server/core/gate.h"
#include "store/tables/accounts.h"
#include "store/tables/audit.h"
#include "store/tables/teams.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

namespace accounts = store::accounts;

constexpr Nanos kSession = std::chrono::hours(24);
constexpr std::size_t kMostCode = 4096;    // bytes
constexpr std::size_t kMostDisplay = 200;  // characters
constexpr std::size_t kMostTarget = 2000;  // bytes
constexpr std::string_view kCallback = "/auth/callback";
// An attempt's cookie: the provider's page leads back to this server, which Strict would not allow.
constexpr std::string_view kAttemptCookie = "corral_sign_in";
constexpr std::string_view kSecureAttemptCookie = "__Host-corral_sign_in";

std::string attempt_cookie(std::string_view value, bool secure) {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Lax; Max-Age={}{}",
                     secure ? kSecureAttemptCookie : kAttemptCookie, value, value.empty() ? 0 : 600,
                     secure ? "; Secure" : "");
}

// A place on this server, for the browser to go on with; "/" for anything else.
std::string local_target(std::string_view target) {
  const auto plain = [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; };
  const bool local = target.starts_with('/') && !target.starts_with("//") &&
                     target.size() <= kMostTarget && std::ranges::all_of(target, plain);
  return local ? std::string(target) : "/";
}

// The address that the provider must know as this server's: the host is one of its names (the
// gate).
std::string redirect_of(const Request& request) {
  return fmt::format("{}://{}{}", request.over_tls ? "https" : "http", request.header("host"),
                     kCallback);
}

// `refresh`: where the browser goes on at once. From a page of this server's own: a redirect would
// still count as the provider's, and leave out the new cookie.
Response small_page(int status, std::string_view text, std::string_view refresh = {}) {
  Response response;
  response.status = status;
  response.body = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Sign in - Corral</title>\n");
  const std::string go_on = escaped_xml(refresh);
  if (!refresh.empty())
    response.body += fmt::format("<meta http-equiv=\"refresh\" content=\"0;url={}\">\n", go_on);
  response.body += fmt::format("<p>{}</p>\n", escaped_xml(text));
  response.body += refresh.empty() ? "<p><a href=\"/auth/login\">Sign in again</a></p>\n"
                                   : fmt::format("<p><a href=\"{}\">Go on</a></p>\n", go_on);
  response.set_header("Content-Type", "text/html; charset=utf-8");
  response.set_header("Cache-Control", "no-store");
  response.set_header("Referrer-Policy", "no-referrer");
  return response;
}

// The user's name that a person would choose, of those characters that it may have.
std::string wished_name(const oidc::Claims& who) {
  const std::string_view given = who.username.empty() ? std::string_view(who.email) : who.username;
  std::string name = lower_ascii(given.substr(0, given.find('@')));
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (char& c : name)
    if (!is_plain(c) && c != '.' && c != '-' && c != '_') c = '-';
  name.erase(name.begin(), std::ranges::find_if(name, is_plain));
  name.resize(std::min<std::size_t>(name.size(), 64));
  return name.empty() ? "user" : name;
}

std::string display_of(const oidc::Claims& who) {
  std::string text = to_utf8(who.name);
  std::erase(text, '\0');
  return count_characters(text) > kMostDisplay ? std::string() : text;
}

Result<> check_newcomer(const oidc::Claims& who, const SignIns& rules) {
  if (rules.newcomers == Role::kAnyone) {
    return fail(Code::kPermission,
                fmt::format("no user of this server signs in as you. An admin can change that: "
                            "corral user add NAME --subject {}",
                            to_utf8(who.subject)));
  }
  const std::size_t at = who.email.rfind('@');
  const std::string domain = at == std::string::npos ? "" : lower_ascii(who.email.substr(at + 1));
  const bool among = std::ranges::find(rules.domains, domain) != rules.domains.end();
  if (!rules.domains.empty() && (domain.empty() || !among)) {
    return fail(Code::kPermission,
                "your verified e-mail address is in none of the domains that may sign in here");
  }
  return {};
}

// The user that this person is; who is new becomes one, if the rules let them.
Result<accounts::User> user_for(store::Writing& writing, const oidc::Claims& who,
                                const SignIns& rules) {
  const accounts::Identity identity{.issuer = rules.provider->issuer(), .subject = who.subject};
  auto known = TRY(accounts::user_of(writing, identity));
  if (known && known->disabled)
    return fail(Code::kPermission, fmt::format("the user '{}' is disabled", known->name));
  if (known) return *std::move(known);
  TRY(check_newcomer(who, rules));
  accounts::User user{.name = TRY(accounts::free_user_name(writing, wished_name(who))),
                      .display = display_of(who),
                      .role = rules.newcomers,
                      .created = sys::utc_now(),
                      .identity = identity};
  TRY(accounts::add_user(writing, user));
  return user;
}

Result<> note_sign_in(store::Writing& writing, store::audit::Entry entry, int status) {
  entry.request = std::string("GET ") + std::string(kCallback);
  const std::int64_t id = TRY(store::audit::begin(writing, entry));
  return store::audit::end(writing, id, status);
}

// All that the browser came back with.
struct Return {
  std::string code;
  oidc::Attempt attempt;
  std::string target;  // to go on with
  std::string redirect;
  std::string address;
  bool secure = false;
};

// Makes the session's token, and its user if they are new.
Result<Response> begin_session(const Return& back, const oidc::Claims& who, Context& context) {
  const AccessToken made = make_access_token();
  const UtcTime now = sys::utc_now();
  const SignIns& rules = *context.sign_ins;
  const auto begin = [&](store::Writing& writing) -> Result<> {
    TRY(accounts::mark_change(writing));
    const accounts::User user = TRY(user_for(writing, who, rules));
    TRY(accounts::join_groups(writing, user.name, who.groups));
    TRY(accounts::begin_session(writing, {.id = made.id,
                                          .hash = sha256(made.text),
                                          .user = user.name,
                                          .label = "signed in by " + rules.provider->host(),
                                          .role = Role::kAdmin,
                                          .created = now,
                                          .expires = now + kSession}));
    std::string detail;
    JsonWriter(detail)
        .begin_object()
        .member("subject", who.subject)
        .member("token", made.id)
        .member("new", user.created >= now)
        .end_object();
    return note_sign_in(
        writing,
        {.time = now, .user = user.name, .address = back.address, .request = {}, .detail = detail},
        200);
  };
  TRY(context.store.change(begin));
  // If that fails, the server's next round does it.
  [[maybe_unused]] const auto followed = context.accounts->follow(context.events);
  Response response = small_page(200, "You are signed in.", back.target);
  response.headers.emplace_back("Set-Cookie", token_cookie(made.text, back.secure));
  return response;
}

// `subject`: who it was, as far as the provider has said.
Response refuse(const Return& back, const Error& error, std::string_view subject,
                Context& context) {
  const int status = http_status(error.code);
  if (!context.listed_refusals->take("", sys::boot_now())) {
    std::string detail;
    JsonWriter(detail)
        .begin_object()
        .member("subject", subject)
        .member("why", error.message)
        .end_object();
    // The refusal counts, whether or not it could be listed.
    [[maybe_unused]] const auto noted = context.store.change([&](store::Writing& writing) {
      return note_sign_in(writing,
                          {.time = sys::utc_now(),
                           .user = "",
                           .address = back.address,
                           .request = {},
                           .detail = detail},
                          status);
    });
  }
  const std::string text = fmt::format("You are not signed in: {}.", error.message);
  if (status < 500) return small_page(status, text);
  Response failed = text_response(text + "\n");  // a line of the server's own output, too
  failed.status = status;
  return failed;
}

Response finish_sign_in(const Return& back, Context& context) {
  const auto who = context.sign_ins->provider->redeem(back.code, back.attempt, back.redirect);
  Result<Response> done = who ? begin_session(back, *who, context) : tl::unexpected(who.error());
  Response response =
      done ? *std::move(done) : refuse(back, done.error(), who ? who->subject : "", context);
  response.headers.emplace_back("Set-Cookie", attempt_cookie("", back.secure));
  return response;
}

bool has_provider(const Context& context) {
  return context.sign_ins != nullptr && context.accounts->required();
}
Response no_provider() { return small_page(404, "This server has no provider to sign in at."); }

}  // namespace

Answer sign_in(const Request& request, Context& context) {
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"token"});
  const std::string token = TRY_PARSED(fields.finish(fields.text("token").value_or("")));
  const auto who = context.accounts->who(token, sys::utc_now());
  if (!who) {
    return fail_about("token", Code::kUnauthenticated,
                      "this token is mistyped, expired or revoked, or no token of this server");
  }
  Response response = object_response(
      [&](JsonWriter& out) { out.member("user", who->user).member("role", role_name(who->role)); });
  const bool secure = request.over_tls || request.header("origin").starts_with("https://");
  response.set_header("Set-Cookie", token_cookie(token, secure));
  response.set_header("Cache-Control", "no-store");
  return response;
}

Answer sign_out(const Request&, Context& context) {
  if (!context.who.token.empty()) {
    TRY(commit(context.store, [&](store::Writing& writing) {
      return accounts::end_session(writing, context.who.token);
    }));
    TRY(context.accounts->follow(context.events));
  }
  Response response = json_response("{}");
  for (const bool secure : {false, true})
    response.headers.emplace_back("Set-Cookie", token_cookie("", secure));
  return response;
}

Answer ways_to_sign_in(const Request&, Context& context) {
  return object_response([&](JsonWriter& json) {
    json.key("provider");
    if (has_provider(context)) {
      json.value(context.sign_ins->provider->host());
    } else {
      json.null();
    }
  });
}

Answer go_to_provider(const Request& request, Context& context) {
  if (!has_provider(context)) return no_provider();
  const std::string target = local_target(request.query_value("to").value_or("/"));
  Response response;
  response.late_kind = Response::Late::kElsewhere;
  response.late = [target, redirect = redirect_of(request), secure = request.over_tls,
                   &context](const auto&) {
    const oidc::Attempt attempt = oidc::Attempt::make();
    const auto url = context.sign_ins->provider->authorize_url(attempt, redirect);
    if (!url) {
      Response failed =
          text_response(fmt::format("You cannot sign in now: {}.\n", url.error().message));
      failed.status = 503;
      return failed;
    }
    Response made;
    made.status = 303;
    made.set_header("Location", *url);
    made.set_header("Cache-Control", "no-store");
    made.set_header("Referrer-Policy", "no-referrer");
    made.set_header("Set-Cookie", attempt_cookie(attempt.text() + "." + base64url(target), secure));
    return made;
  };
  return response;
}

Answer back_from_provider(const Request& request, Context& context) {
  if (!has_provider(context)) return no_provider();
  const std::string cookie(
      request.cookie(request.over_tls ? kSecureAttemptCookie : kAttemptCookie));
  const std::size_t end = std::min(cookie.rfind('.'), cookie.size());
  const auto attempt = oidc::Attempt::parse(std::string_view(cookie).substr(0, end));
  const auto state = request.query_value("state");
  if (!attempt || !state || !same_secret(*state, attempt->state)) {
    return small_page(400,
                      "This sign-in was begun in another browser, or more than ten minutes ago.");
  }
  Return back{.code = std::string(request.query_value("code").value_or("")),
              .attempt = *attempt,
              .target = local_target(
                  from_base64(std::string_view(cookie).substr(std::min(end + 1, cookie.size())))
                      .value_or("")),
              .redirect = redirect_of(request),
              .address = request.peer,
              .secure = request.over_tls};
  const auto refused = request.query_value("error");
  const auto issuer = request.query_value("iss");  // RFC 9207
  const bool foreign = issuer && *issuer != context.sign_ins->provider->issuer();
  if (refused || foreign || back.code.empty() || back.code.size() > kMostCode) {
    const std::string why =
        refused ? to_utf8(refused->substr(0, 200)) : std::string("its answer has no code for us");
    Response response = refuse(
        back, {Code::kUnauthenticated, "the provider did not let you in: " + why}, "", context);
    response.set_header("Set-Cookie", attempt_cookie("", back.secure));
    return response;
  }
  Response response;
  response.late_kind = Response::Late::kElsewhere;
  response.late = [back = std::move(back), &context](const auto&) {
    return finish_sign_in(back, context);
  };
  return response;
}

}  // namespace corral::server::api
