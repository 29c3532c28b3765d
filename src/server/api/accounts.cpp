// Users of the store, their tokens, programs that ask for one, whose request it is, and who did
// what. (Sign-ins: sign_in.cpp)
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "core/access_token.h"
#include "core/json.h"
#include "core/text.h"
#include "oidc/provider.h"
#include "server/api/handlers.h"
#include "server/api/request_fields.h"
#include "server/api/write.h"
#include "server/core/accounts.h"
#include "server/core/events.h"
#include "server/core/gate.h"
#include "server/core/once_codes.h"
#include "server/core/router.h"
#include "store/tables/accounts.h"
#include "store/tables/audit.h"
#include "store/tables/device_codes.h"
#include "store/tables/spaces.h"
#include "store/tables/teams.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

namespace accounts = store::accounts;

constexpr std::size_t kMostDisplay = 200;  // characters
constexpr std::size_t kMostLabel = 200;
constexpr std::size_t kMostSubject = 255;
constexpr std::size_t kMostToken = 1024;  // bytes
constexpr std::int64_t kMostEntries = 1000;
constexpr std::size_t kMostMembers = 1000;  // in one request
constexpr std::size_t kMostUserName = 65;   // with the "@" of a team
constexpr std::size_t kMostGroup = 255;
constexpr std::int64_t kDays = 90;
constexpr std::int64_t kMostDays = 366;
constexpr Nanos kDeviceWaits = std::chrono::minutes(10);

// Commits the change; the next request meets it.
template <class Change>
Result<> commit_accounts(Context& context, Change change) {
  TRY(context.store.change(change));
  // If another thread has refreshed meanwhile, that one ends the streams.
  return context.accounts->follow(context.events);
}

// Without users a server lets everybody in who reaches it: nobody may then make themselves an admin
// of later, but the owner of its socket.
Result<> check_place(const Request& request, const Context& context) {
  if (request.over_unix || context.accounts->required()) return {};
  return fail(Code::kPermission,
              "users are managed through the store's Unix socket until its server asks for users "
              "(corral serve --auth users)");
}

std::string short_text(RequestFields& fields, std::string_view name, std::size_t most) {
  std::string text = fields.text(name).value_or("");
  if (count_characters(text) > most || text.find('\0') != std::string::npos)
    fields.wrong(name, fmt::format("at most {} characters, without NUL", most));
  return text;
}

// The program that asked for a token on a page; empty: none did.
struct Asked {
  std::string_view code = {}, address = {};
};

// The audit's entry of a new token, by the user whose request made it.
Result<> note_token(store::Writing& writing, const accounts::Token& token, const Request& request,
                    const std::string& by, const Asked& asked = {}) {
  std::string detail;
  JsonWriter json(detail);
  json.begin_object().member("token", token.id).member("user", token.user);
  json.member("label", token.label).member("role", role_name(token.role));
  json.member("parent", token.parent);
  if (!asked.code.empty()) json.member("code", asked.code).member("asked_from", asked.address);
  json.end_object();
  const std::int64_t entry = TRY(store::audit::begin(writing, {.time = token.created,
                                                               .user = by,
                                                               .address = request.peer,
                                                               .request = "POST " + request.path,
                                                               .detail = detail}));
  return store::audit::end(writing, entry, 200);
}

std::optional<Role> read_role(RequestFields& fields) {
  return fields.choice<Role>("role", {{kRoleNames[0], Role::kReader},
                                      {kRoleNames[1], Role::kWriter},
                                      {kRoleNames[2], Role::kOwner},
                                      {kRoleNames[3], Role::kAdmin}});
}

Result<std::string> issuer_of(const Context& context) {
  if (context.sign_ins != nullptr) return context.sign_ins->provider->issuer();
  return fail(Code::kUnprocessable,
              "this server has no provider at which users sign in (corral serve --oidc-issuer)");
}

// A user's identity where this server's users sign in; an empty "subject": none.
Result<accounts::Identity> read_identity(RequestFields& fields, const Context& context) {
  std::string subject = short_text(fields, "subject", kMostSubject);
  if (subject.empty()) return accounts::Identity();
  return accounts::Identity{TRY(issuer_of(context)), std::move(subject)};
}

// The same of a team, with an empty "group".
Result<accounts::Group> read_group(RequestFields& fields, const Context& context) {
  std::string name = short_text(fields, "group", kMostGroup);
  if (name.empty()) return accounts::Group();
  return accounts::Group{TRY(issuer_of(context)), std::move(name)};
}

void write_user(JsonWriter& json, const accounts::User& user) {
  json.begin_object().member("name", user.name);
  write_text(json, "display", user.display);
  json.member("role", role_name(user.role)).member("disabled", user.disabled);
  write_time(json, "created_ns", user.created);
  write_text(json, "issuer", user.identity.issuer);
  write_text(json, "subject", user.identity.subject);
  json.end_object();
}

void write_token(JsonWriter& json, const accounts::Token& token) {
  json.begin_object().member("id", token.id).member("user", token.user);
  write_text(json, "label", token.label);
  json.member("role", role_name(token.role));
  write_time(json, "created_ns", token.created);
  write_time(json, "expires_ns", token.expires);
  write_time(json, "revoked_ns", token.revoked);
  write_text(json, "parent", token.parent);
  json.end_object();
}

void write_space(JsonWriter& json, const accounts::Space& space) {
  json.begin_object().member("name", space.name).key("members").begin_array();
  for (const std::string& member : space.members) json.value(member);
  json.end_array();
  write_time(json, "created_ns", space.created);
  json.end_object();
}

void write_team(JsonWriter& json, const accounts::Team& team) {
  json.begin_object().member("name", team.name).key("members").begin_array();
  for (const std::string& member : team.members) json.value(member);
  json.end_array();
  write_text(json, "group", team.group.name);
  write_time(json, "created_ns", team.created);
  json.end_object();
}

void write_entry(JsonWriter& json, const store::audit::Entry& entry) {
  json.begin_object();
  write_integer(json, "id", entry.id);
  write_time(json, "time_ns", entry.time);
  write_text(json, "user", entry.user);
  write_text(json, "address", entry.address);
  json.member("request", entry.request);
  write_text(json, "detail", entry.detail);
  write_optional(json, "status", entry.status);
  json.end_object();
}

Response named_response(std::string_view name) {
  return object_response([&](JsonWriter& json) { json.member("name", name); });
}

}  // namespace

Answer me(const Request&, Context& context) {
  return object_response([&](JsonWriter& json) {
    json.member("users", context.accounts->required());
    write_text(json, "user", context.who.user);
    json.member("role", role_name(context.who.role));
  });
}

Answer make_code(const Request& request, Context& context) {
  std::string token = header_token(request);
  if (token.empty() || token.size() > kMostToken)
    return fail(Code::kInvalidArgument,
                "a code stands for a token: send it in the header Authorization");
  const std::string code = context.once->add(std::move(token), sys::boot_now());
  Response response = object_response([&](JsonWriter& json) { json.member("code", code); });
  response.set_header("Cache-Control", "no-store");
  return response;
}

Answer users(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const auto all = TRY(in_snapshot(context.reader, accounts::users));
  return array_response("users", all, write_user);
}

Answer add_user(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"name", "display", "role", "subject"});
  accounts::User user{.name = fields.text("name").value_or(""),
                      .display = short_text(fields, "display", kMostDisplay),
                      .created = sys::utc_now()};
  if (!accounts::valid_user_name(user.name)) {
    fields.wrong("name", "1 to 64 of a-z, 0-9, '.', '-' and '_', a letter or digit first");
  }
  user.role = read_role(fields).value_or(Role::kReader);
  user.identity = TRY(read_identity(fields, context));
  user = TRY_PARSED(fields.finish(std::move(user)));
  TRY(commit_accounts(context, [&](store::Writing& w) { return accounts::add_user(w, user); }));
  return named_response(user.name);
}

Answer change_user(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"display", "role", "disabled", "subject"});
  accounts::UserChange change{.name = std::string(request.param("user"))};
  if (fields.has("display")) change.display = short_text(fields, "display", kMostDisplay);
  change.role = read_role(fields);
  if (fields.has("subject")) change.identity = TRY(read_identity(fields, context));
  change.disabled = fields.boolean("disabled");
  change = TRY_PARSED(fields.finish(std::move(change)));
  TRY(commit_accounts(context,
                      [&](store::Writing& w) { return accounts::change_user(w, change); }));
  return named_response(change.name);
}

Answer delete_user(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const std::string name(request.param("user"));
  TRY(commit_accounts(context, [&](store::Writing& w) { return accounts::delete_user(w, name); }));
  return named_response(name);
}

Answer tokens(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Principal& who = context.who;
  auto all = TRY(in_snapshot(context.reader, accounts::tokens));
  if (who.role < Role::kAdmin)
    std::erase_if(all, [&](const accounts::Token& token) { return token.user != who.user; });
  return array_response("tokens", all, write_token);
}

Answer add_token(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"user", "label", "role", "days"});
  const AccessToken made = make_access_token();
  accounts::Token token{.id = made.id,
                        .hash = sha256(made.text),
                        .user = fields.text("user").value_or(""),
                        .label = short_text(fields, "label", kMostLabel),
                        .created = sys::utc_now()};
  const Principal& who = context.who;
  const bool own = who.role < Role::kAdmin;
  if (own && !fields.has("user")) token.user = who.user;
  if (!accounts::valid_user_name(token.user)) fields.wrong("user", "the name of a user");
  // At most what the user may now, and at each use.
  token.role = read_role(fields).value_or(Role::kAdmin);
  const std::int64_t days = fields.has("days") ? fields.count("days", 1, kMostDays) : kDays;
  token.expires = token.created + std::chrono::hours(24) * days;
  token = TRY_PARSED(fields.finish(std::move(token)));
  if (own && token.user != who.user)
    return fail(Code::kPermission, "only admins make tokens of other users");
  if (const auto wait = own ? context.made_tokens->take(who.user, sys::boot_now()) : std::nullopt)
    return too_many(request, "new tokens", *wait);
  const auto add = [&](store::Writing& writing) -> Result<> {
    const bool of_session =
        token.user == who.user && TRY(accounts::is_of_session(writing, who.token));
    if (own || of_session) {
      token.parent = who.token;
      token = TRY(accounts::add_child_token(writing, token));
    } else {
      TRY(accounts::add_token(writing, token));
    }
    return note_token(writing, token, request, who.user);
  };
  TRY(commit_accounts(context, add));
  Response response = object_response([&](JsonWriter& out) {
    out.member("id", token.id).member("token", made.text).member("user", token.user);
    write_time(out, "expires_ns", token.expires);
  });
  response.set_header("Cache-Control", "no-store");
  return response;
}

Answer revoke_token(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Principal& who = context.who;
  const std::string id(request.param("token"));
  std::optional<accounts::TokensOf> only;
  if (who.role < Role::kAdmin) only = {.user = who.user, .role = who.role};
  bool known = false;
  const auto revoke = [&](store::Writing& writing) -> Result<> {
    known = TRY(accounts::revoke_token(writing, id, sys::utc_now(), only));
    return {};
  };
  TRY(commit_accounts(context, revoke));
  if (!known) return fail(Code::kNotFound, fmt::format("you have no token '{}'", id));
  return object_response([&](JsonWriter& json) { json.member("id", id); });
}

// ---- spaces
Answer spaces(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Principal& who = context.who;
  const auto read = [&](store::Reading& reading) -> Result<std::vector<accounts::Space>> {
    auto all = TRY(accounts::spaces(reading));
    if (who.role == Role::kAdmin) return all;
    const auto teams = TRY(accounts::teams(reading));
    std::erase_if(all, [&](const accounts::Space& space) {
      return !accounts::people_of(space, teams).contains(who.user);
    });
    return all;
  };
  return array_response("spaces", TRY(in_snapshot(context.reader, read)), write_space);
}

Answer add_space(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"name", "members"});
  accounts::Space space{.name = fields.text("name").value_or(""),
                        .members = fields.optional_texts("members", kMostMembers, kMostUserName),
                        .created = sys::utc_now()};
  if (!accounts::valid_space_name(space.name))
    fields.wrong("name", "1 to 64 of a-z, 0-9, '-' and '_', a letter or digit first");
  space = TRY_PARSED(fields.finish(std::move(space)));
  TRY(commit_accounts(context, [&](store::Writing& w) { return accounts::add_space(w, space); }));
  return named_response(space.name);
}

Answer change_space(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"add", "remove"});
  accounts::MemberChange change{
      .space = std::string(request.param("space")),
      .add = fields.optional_texts("add", kMostMembers, kMostUserName),
      .remove = fields.optional_texts("remove", kMostMembers, kMostUserName)};
  change = TRY_PARSED(fields.finish(std::move(change)));
  TRY(commit_accounts(context,
                      [&](store::Writing& w) { return accounts::change_members(w, change); }));
  return named_response(change.space);
}

Answer delete_space(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const std::string name(request.param("space"));
  const auto open = query_flag(request, "open");
  if (!open) return bad_query(request, "open", "true or false");
  const auto used = *open ? accounts::IfUsed::kOpen : accounts::IfUsed::kRefuse;
  TRY(commit_accounts(context,
                      [&](store::Writing& w) { return accounts::delete_space(w, name, used); }));
  return named_response(name);
}

// ---- teams
Answer teams(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Principal& who = context.who;
  auto all = TRY(in_snapshot(context.reader, accounts::teams));
  if (who.role < Role::kAdmin)
    std::erase_if(all, [&](const accounts::Team& team) {
      return std::ranges::find(team.members, who.user) == team.members.end();
    });
  return array_response("teams", all, write_team);
}

Answer add_team(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"name", "members", "group"});
  accounts::Team team{.name = fields.text("name").value_or(""),
                      .members = fields.optional_texts("members", kMostMembers, kMostUserName),
                      .group = TRY(read_group(fields, context)),
                      .created = sys::utc_now()};
  if (!accounts::valid_space_name(team.name))
    fields.wrong("name", "1 to 64 of a-z, 0-9, '-' and '_', a letter or digit first");
  team = TRY_PARSED(fields.finish(std::move(team)));
  TRY(commit_accounts(context, [&](store::Writing& w) { return accounts::add_team(w, team); }));
  return named_response(team.name);
}

Answer change_team(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"add", "remove", "group"});
  accounts::TeamChange change{
      .team = std::string(request.param("team")),
      .add = fields.optional_texts("add", kMostMembers, kMostUserName),
      .remove = fields.optional_texts("remove", kMostMembers, kMostUserName)};
  if (fields.has("group")) change.group = TRY(read_group(fields, context));
  change = TRY_PARSED(fields.finish(std::move(change)));
  TRY(commit_accounts(context,
                      [&](store::Writing& w) { return accounts::change_team(w, change); }));
  return named_response(change.team);
}

Answer delete_team(const Request& request, Context& context) {
  TRY(check_place(request, context));
  const std::string name(request.param("team"));
  TRY(commit_accounts(context, [&](store::Writing& w) { return accounts::delete_team(w, name); }));
  return named_response(name);
}

// ---- programs that ask for a token
Answer ask_device(const Request& request, Context& context) {
  if (!context.accounts->required()) return fail(Code::kUnprocessable, "this server has no users");
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"client"});
  const std::string secret = RunId::random().hex() + RunId::random().hex();
  const UtcTime now = sys::utc_now();
  accounts::Device device{.secret = sha256(secret),
                          .code = accounts::new_device_code(),
                          .client = fields.text("client").value_or(""),
                          .address = request.peer,
                          .expires = now + kDeviceWaits};
  if (!accounts::valid_client_name(device.client))
    fields.wrong("client", "1 to 64 letters, digits, '.', '-' and '_'");
  device = TRY_PARSED(fields.finish(std::move(device)));
  TRY(context.store.change(
      [&](store::Writing& writing) { return accounts::add_device(writing, device, now); }));
  Response response = object_response([&](JsonWriter& out) {
    out.member("device_code", secret).member("code", device.code);
    write_time(out, "expires_ns", device.expires);
  });
  response.set_header("Cache-Control", "no-store");
  return response;
}

namespace {

// Guesses at the codes of others are slow.
std::optional<Response> check_typing(const Request& request, const Context& context) {
  const auto wait = context.typed_codes->take(context.who.user, sys::boot_now());
  return wait ? std::optional(too_many(request, "codes", *wait)) : std::nullopt;
}

// The code that a user typed.
Parsed<std::string> typed_code(const Request& request) {
  std::string code = accounts::read_device_code(request.param("code"));
  if (!code.empty()) return code;
  return fail_about("code", Code::kInvalidArgument,
                    "a code has eight letters, as BCDF-GHJK, none of them a vowel");
}

tl::unexpected<Error> nobody_asks(const std::string& code) {
  return fail(Code::kNotFound, fmt::format("no program waits with the code {}", code));
}

}  // namespace

Answer asking_device(const Request& request, Context& context) {
  if (auto no = check_typing(request, context)) return *std::move(no);
  const std::string code = TRY_PARSED(typed_code(request));
  const auto found = TRY(in_snapshot(context.reader, [&](store::Reading& reading) {
    return accounts::device(reading, code, sys::utc_now());
  }));
  if (!found) return nobody_asks(code);
  return object_response([&](JsonWriter& json) {
    json.member("code", found->code).member("client", found->client);
    write_text(json, "address", found->address);
    write_time(json, "expires_ns", found->expires);
  });
}

Answer answer_device(const Request& request, Context& context) {
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"allow", "role"});
  const auto allow = fields.boolean("allow");
  if (!allow) fields.wrong("allow", "true or false");
  const Role role = read_role(fields).value_or(Role::kWriter);
  const bool allowed = TRY_PARSED(fields.finish(allow.value_or(false)));
  if (auto no = check_typing(request, context)) return *std::move(no);
  const std::string code = TRY_PARSED(typed_code(request));
  const Principal& who = context.who;
  if (who.token.empty())
    return fail(Code::kPermission, "only a user can let a program act for them: sign in");
  const UtcTime now = sys::utc_now();
  const accounts::DeviceAnswer answer{.token = who.token,
                                      .role = allowed ? std::min(role, who.role) : Role::kAnyone};
  const bool answered = TRY(commit(context.store, [&](store::Writing& writing) {
    return accounts::answer_device(writing, code, answer, now);
  }));
  if (!answered) return nobody_asks(code);
  return object_response([&](JsonWriter& out) { out.member("code", code); });
}

namespace {

// Makes the token that a user has allowed, once; says so in the audit.
Result<> hand_out(store::Writing& writing, const accounts::DeviceAnswer& answer,
                  const AccessToken& made, const Request& request) {
  const UtcTime now = sys::utc_now();
  accounts::Token token{.id = made.id,
                        .hash = sha256(made.text),
                        .user = "",
                        .label = "corral login on " + answer.asked.client,
                        .role = answer.role,
                        .created = now,
                        .expires = now + std::chrono::hours(24) * kDays,
                        .parent = answer.token};
  token = TRY(accounts::add_child_token(writing, token));
  const Asked asked{.code = answer.asked.code, .address = answer.asked.address};
  return note_token(writing, token, request, token.user, asked);
}

}  // namespace

Answer device_token(const Request& request, Context& context) {
  const Json json = TRY_PARSED(parse_body(request.body));
  RequestFields fields(request.body, json);
  fields.only({"device_code"});
  std::string code = fields.text("device_code").value_or("");
  if (code.empty()) fields.wrong("device_code", "the one of POST device-codes");
  code = TRY_PARSED(fields.finish(std::move(code)));
  const Sha256 secret = sha256(code);
  const auto answer = TRY(in_snapshot(context.reader, [&](store::Reading& reading) {
    return accounts::device_answer(reading, secret, sys::utc_now());
  }));
  const bool allowed = answer && answer->role != Role::kAnyone;
  const AccessToken made = make_access_token();
  const auto take = [&](store::Writing& writing) -> Result<> {
    if (!TRY(accounts::take_device(writing, secret)))
      return fail(Code::kNotFound, "the token of this sign-in was handed out already");
    return allowed ? hand_out(writing, *answer, made, request) : Result<>();
  };
  if (answer) TRY(context.store.change(take));
  // If that fails, the server's next round does it: the token is made.
  if (allowed) {
    [[maybe_unused]] const auto followed = context.accounts->follow(context.events);
  }
  Response response = object_response([&](JsonWriter& out) {
    out.member("state", !answer ? "waiting" : allowed ? "allowed" : "refused");
    if (allowed) out.member("token", made.text);
  });
  response.set_header("Cache-Control", "no-store");
  return response;
}

Answer audit(const Request& request, Context& context) {
  TRY(check_place(request, context));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto user = request.query_value("user");
  const auto times = TRY_PARSED(query_times(request));
  const auto limit = TRY_PARSED(query_int(request, "limit", {1, kMostEntries, 100}));
  const auto before = TRY_PARSED(query_int(request, "before", {1, kMost, kMost}));
  const store::audit::Filter filter{.user = user ? std::optional(std::string(*user)) : std::nullopt,
                                    .before = before,
                                    .from = times.from,
                                    .to = times.to,
                                    .limit = static_cast<std::size_t>(limit)};
  const auto read = [&](store::Reading& reading) { return store::audit::entries(reading, filter); };
  return array_response("entries", TRY(in_snapshot(context.reader, read)), write_entry);
}

}  // namespace corral::server::api
