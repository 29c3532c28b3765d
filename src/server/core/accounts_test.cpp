// Tests who may send what where a store has users: every route of the server for every kind of
// person, over a real store.
#include "server/core/accounts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/access_token.h"
#include "core/base64.h"
#include "core/text.h"
#include "server/core/gate.h"
#include "server/core/test_handlers.h"
#include "store/tables/accounts.h"
#include "store/tables/spaces.h"
#include "store/tables/teams.h"
#include "sys/clock.h"

namespace corral::server {
namespace {

namespace accounts = store::accounts;

class AccountsTest : public HandlerTest {
 protected:
  template <class Change>
  void commit(Change change) {
    const auto done = store_->change(change);
    ASSERT_TRUE(done) << done.error().message;
  }
  void add(const std::string& name, Role role) {
    commit([&](store::Writing& writing) {
      return accounts::add_user(writing, {.name = name, .display = "", .role = role});
    });
  }
  // The text of a new token.
  std::string give(const std::string& user, Role role, UtcTime expires = in(1)) {
    const AccessToken made = make_access_token();
    commit([&](store::Writing& writing) {
      return accounts::add_token(writing, {.id = made.id,
                                           .hash = sha256(made.text),
                                           .user = user,
                                           .label = "",
                                           .role = role,
                                           .created = sys::utc_now(),
                                           .expires = expires});
    });
    return made.text;
  }
  void require_users() {
    commit([](store::Writing& writing) { return accounts::require_users(writing, true); });
    refresh();
  }
  Accounts::Change change_seen() {
    const auto changed = accounts_.refresh();
    EXPECT_TRUE(changed) << changed.error().message;
    return changed.value_or(Accounts::Change::kNone);
  }
  bool refresh() { return change_seen() != Accounts::Change::kNone; }
  static UtcTime in(int days) { return sys::utc_now() + std::chrono::hours(24) * days; }

  // The status of the gate's refusal; 200: it lets the request through.
  int gate(const Request& request) const {
    const Decision decision = decide(request, {.hosts = {}, .token = "", .accounts = &accounts_});
    return decision.allowed() ? 200 : decision.answer->status;
  }
  static Request request(Method method, std::string_view path, const std::string& token = "") {
    Request made;
    made.method = method;
    made.path = path;
    made.headers = {{"host", "localhost"}, {"content-type", "application/json"}};
    if (!token.empty()) made.headers.emplace_back("authorization", "Bearer " + token);
    return made;
  }
};

TEST_F(AccountsTest, WhoCountsOnlyWhileTheTokenDoes) {
  add("ada", Role::kAdmin);
  add("bob", Role::kWriter);
  const std::string token = give("bob", Role::kAdmin);
  EXPECT_FALSE(accounts_.who(token, sys::utc_now())) << "not read yet";
  EXPECT_TRUE(refresh());
  EXPECT_FALSE(refresh()) << "nothing new";
  const auto who = accounts_.who(token, sys::utc_now());
  ASSERT_TRUE(who);
  EXPECT_EQ(who->user, "bob");
  EXPECT_EQ(who->role, Role::kWriter) << "no more than its user";
  EXPECT_FALSE(accounts_.who(token, in(1))) << "expired at that moment";
  EXPECT_FALSE(accounts_.who("", sys::utc_now()));
  EXPECT_FALSE(accounts_.who(make_access_token().text, sys::utc_now()));

  const auto change = [&](const accounts::UserChange& to) {
    commit([&](store::Writing& writing) { return accounts::change_user(writing, to); });
    refresh();
  };
  change({.name = "bob", .role = Role::kReader});
  EXPECT_EQ(accounts_.who(token, sys::utc_now())->role, Role::kReader);
  change({.name = "bob", .role = Role::kOwner});
  EXPECT_EQ(accounts_.who(token, sys::utc_now())->role, Role::kWriter) << "as it was made";
  change({.name = "bob", .disabled = true});
  EXPECT_FALSE(accounts_.who(token, sys::utc_now()));
  change({.name = "bob", .disabled = false});
  EXPECT_TRUE(accounts_.who(token, sys::utc_now()));
  commit([&](store::Writing& writing) -> Result<> {
    const auto id = access_token_id(token);
    TRY(accounts::revoke_token(writing, *id, sys::utc_now(), std::nullopt));
    return {};
  });
  refresh();
  EXPECT_FALSE(accounts_.who(token, sys::utc_now()));
}

// Streams of events that are open end, unless there is only more than before.
TEST_F(AccountsTest, ARefreshTellsWhetherSomebodySeesOrMayLess) {
  using Change = Accounts::Change;
  add("ada", Role::kAdmin);
  add("bob", Role::kWriter);
  const std::string token = give("bob", Role::kWriter);
  const std::string old = give("bob", Role::kWriter, in(-1));
  const std::string just = give("bob", Role::kWriter, sys::utc_now());
  refresh();
  EXPECT_EQ(change_seen(), Change::kNone);
  give("bob", Role::kReader);
  EXPECT_EQ(change_seen(), Change::kAdded);
  add("eve", Role::kReader);
  EXPECT_EQ(change_seen(), Change::kAdded);
  const auto change = [&](accounts::UserChange to) {
    commit([&](store::Writing& writing) { return accounts::change_user(writing, to); });
    return change_seen();
  };
  EXPECT_EQ(change({.name = "bob", .display = "Bob"}), Change::kAdded);
  EXPECT_EQ(change({.name = "bob", .role = Role::kReader}), Change::kOther);
  EXPECT_EQ(change({.name = "bob", .disabled = true}), Change::kOther);
  EXPECT_EQ(change({.name = "bob", .disabled = false}), Change::kAdded);
  commit([](store::Writing& writing) {
    return accounts::add_space(writing, {.name = "vision", .members = {"bob"}});
  });
  EXPECT_EQ(change_seen(), Change::kOther);
  commit([](store::Writing& writing) {
    return accounts::add_team(writing, {.name = "team", .members = {"eve"}, .group = {}});
  });
  EXPECT_EQ(change_seen(), Change::kAdded);
  commit([](store::Writing& writing) {
    return accounts::change_members(writing, {.space = "vision", .add = {"@team"}, .remove = {}});
  });
  EXPECT_EQ(change_seen(), Change::kOther);
  EXPECT_TRUE(accounts_.access_of("eve").sees_all());
  EXPECT_FALSE(accounts_.access_of("ada").sees_all()) << "an admin is no member";
  commit([](store::Writing& writing) { return accounts::delete_team(writing, "team"); });
  EXPECT_EQ(change_seen(), Change::kOther);
  EXPECT_FALSE(accounts_.access_of("eve").sees_all());
  commit([&](store::Writing& writing) -> Result<> {
    TRY(accounts::revoke_token(writing, *access_token_id(old), sys::utc_now(), std::nullopt));
    return {};
  });
  EXPECT_EQ(change_seen(), Change::kAdded) << "it had expired";
  commit([&](store::Writing& writing) -> Result<> {
    TRY(accounts::revoke_token(writing, *access_token_id(just), sys::utc_now(), std::nullopt));
    return {};
  });
  EXPECT_EQ(change_seen(), Change::kOther) << "a moment ago only, its streams may be open";
}

// A token of the same id with another secret, as somebody would make who has read a list.
TEST_F(AccountsTest, TheIdOfATokenIsNoToken) {
  add("ada", Role::kAdmin);
  const std::string token = give("ada", Role::kAdmin);
  refresh();
  std::string forged = token.substr(0, token.rfind('_') + 1) + std::string(64, '0');
  forged += hex(sha256(forged), 3);
  ASSERT_EQ(access_token_id(forged), access_token_id(token));
  EXPECT_FALSE(accounts_.who(forged, sys::utc_now()));
}

// ---- every route for everybody

// The role that each route needs, once more: a route that is missing here fails the test.
const std::map<std::string, Role>& roles_of_routes() {
  static const std::map<std::string, Role> roles = [] {
    std::map<std::string, Role> all;
    const auto list = [&](Role role, std::string_view method, std::string_view patterns) {
      for (const std::string_view pattern : split(patterns, ' '))
        all.emplace(std::string(method) + " " + std::string(pattern), role);
    };
    const std::string_view v1 = "/api/corral/v1/";
    const auto api = [&](Role role, std::string_view method, std::string_view names) {
      for (const std::string_view name : split(names, ' '))
        list(role, method, std::string(v1) + std::string(name));
    };
    list(
        Role::kAnyone, "GET",
        "/health /ready /runs/{path...} /experiments/{path...} /plans/{path...} /reports/{path...} "
        "/board /summary /compare /history /collocation /people /device /docs /docs/{path...} "
        "/assets/{path...} "
        "/{path...}");
    api(Role::kAnyone, "POST", "sign-in sign-out device-codes device-tokens");
    api(Role::kAnyone, "GET", "sign-in");
    list(Role::kAnyone, "GET", "/auth/login /auth/callback");
    list(Role::kReader, "GET",
         "/metrics /version /get-artifact /model-versions/get-artifact /fe_experiments /fe_runs "
         "/fe_metrics_available /fe_metrics");
    api(Role::kReader, "GET",
        "version clock sessions/{session} experiments workloads workloads/{workload}/sharing "
        "workloads/{workload}/workflow plans/{plan}/workflow experiments/{experiment}/workflow "
        "workloads/{workload}/collocation plans/{plan}/collocation "
        "experiments/{experiment}/collocation runs experiments/{experiment}/overview runs/{run} "
        "runs/{run}/metrics runs/{run}/phases runs/{run}/check-trace runs/{run}/events "
        "runs/{run}/clocks runs/{run}/health runs/{run}/explain runs/{run}/interest "
        "runs/{run}/footprint "
        "runs/{run}/attribution runs/{run}/logs runs/{run}/logs/search runs/{run}/notes "
        "runs/{run}/profile views/{view} boards lists reports plans plans/{plan} "
        "runs/{run}/export runs/{run}/artifacts runs/{run}/artifacts/{path...} runs/{run}/media "
        "runs/{run}/latest stream openapi.json me tokens spaces teams alerts device-codes/{code}");
    api(Role::kReader, "POST",
        "runs/search sparklines summaries phases/statistics points charts lines windows xy epochs "
        "changes compare history differences views codes tokens");
    api(Role::kReader, "PUT", "device-codes/{code}");
    api(Role::kReader, "DELETE", "tokens/{token} alerts/{alert}");
    list(Role::kReader, "POST", "/prom/api/v1/read");
    list(Role::kWriter, "POST", "/v1/traces");
    api(Role::kWriter, "POST",
        "frames runs/changes runs/{run}/notes runs/{run}/profile alerts alerts/{alert}/test");
    api(Role::kWriter, "PUT",
        "runs/{run}/notes/{note} runs/{run}/profile/{id} boards/{board} lists/{list} "
        "reports/{report} plans/{plan} runs/{run}/artifacts/{path...}");
    api(Role::kWriter, "DELETE",
        "runs/{run}/notes/{note} boards/{board} lists/{list} reports/{report} plans/{plan}");
    api(Role::kOwner, "DELETE", "runs/{run} experiments/{experiment}");
    api(Role::kAdmin, "GET", "users audit");
    api(Role::kAdmin, "POST", "users spaces teams stop");
    api(Role::kAdmin, "PUT", "users/{user} spaces/{space} teams/{team}");
    api(Role::kAdmin, "DELETE", "users/{user} spaces/{space} teams/{team}");
    return all;
  }();
  return roles;
}

// A path that the pattern matches.
std::string path_of(std::string_view pattern) {
  std::string path;
  for (const std::string_view segment : split(pattern.substr(1), '/'))
    path += "/" + std::string(segment.starts_with('{') ? "x" : segment);
  return path;
}

TEST_F(AccountsTest, EveryRouteIsForThoseWhoHaveItsRole) {
  add("root", Role::kAdmin);
  struct Person {
    std::string what, token;
    std::optional<Role> role;  // nullopt: nobody
  };
  std::vector<Person> people = {{"nobody", "", std::nullopt},
                                {"a mistyped token", "corral_pat_x", std::nullopt},
                                {"an unknown token", make_access_token().text, std::nullopt}};
  for (const Role role : {Role::kReader, Role::kWriter, Role::kOwner, Role::kAdmin}) {
    const std::string name(role_name(role));
    add(name, role);
    people.push_back({name, give(name, role), role});
  }
  people.push_back({"an admin's token for reading", give("admin", Role::kReader), Role::kReader});
  people.push_back({"an expired token", give("admin", Role::kAdmin, in(-1)), std::nullopt});
  add("gone", Role::kAdmin);
  people.push_back({"a disabled user", give("gone", Role::kAdmin), std::nullopt});
  commit([](store::Writing& writing) {
    return accounts::change_user(writing, {.name = "gone", .disabled = true});
  });
  require_users();

  std::set<std::string> seen;
  for (const Route& route : routes()) {
    const std::string name =
        std::string(method_name(route.method)) + " " + std::string(route.pattern);
    const auto expected = roles_of_routes().find(name);
    ASSERT_NE(expected, roles_of_routes().end()) << name << ": say here what it needs";
    seen.insert(name);
    const Role needed = expected->second;
    for (const Person& person : people) {
      const int status = gate(request(route.method, path_of(route.pattern), person.token));
      const bool may = needed == Role::kAnyone || (person.role && *person.role >= needed);
      const int refused = person.role ? 403 : 401;
      EXPECT_EQ(status, may ? 200 : refused) << name << " for " << person.what;
    }
    Request local = request(route.method, path_of(route.pattern));
    local.over_unix = true;
    EXPECT_EQ(gate(local), 200) << name << " over the socket";
  }
  EXPECT_EQ(seen.size(), roles_of_routes().size()) << "a route that is here is gone";
}

TEST_F(AccountsTest, WhatHasNoRouteIsForNobodyUnknown) {
  add("ada", Role::kAdmin);
  require_users();
  for (const char* path : {"/api/corral/v1/nothing", "/api/2.0/mlflow/nothing", "/ajax-api/x"})
    EXPECT_EQ(gate(request(Method::kPost, path)), 401) << path;
  EXPECT_EQ(gate(request(Method::kHead, "/api/corral/v1/runs")), 401);
  EXPECT_EQ(gate(request(Method::kHead, "/health")), 200);
}

TEST_F(AccountsTest, MlflowsCallsNeedTheRoleOfWhatTheyDo) {
  if (!door::owns("/api/2.0/mlflow")) GTEST_SKIP() << "built without compat";
  add("root", Role::kAdmin);
  std::map<Role, std::string> tokens;
  for (const Role role : {Role::kReader, Role::kWriter, Role::kOwner}) {
    const std::string name(role_name(role));
    add(name, role);
    tokens[role] = give(name, role);
  }
  require_users();
  const auto expect = [&](Role needed, Method method, std::string_view path) {
    for (const std::string_view prefix : {"/api", "/ajax-api"}) {
      const std::string whole = std::string(prefix) + std::string(path);
      EXPECT_EQ(gate(request(method, whole)), 401) << whole;
      for (const auto& [role, token] : tokens)
        EXPECT_EQ(gate(request(method, whole, token)), role >= needed ? 200 : 403)
            << whole << " for a " << role_name(role);
    }
  };
  for (const char* path :
       {"/2.0/mlflow/experiments/search", "/2.0/mlflow/experiments/search-datasets",
        "/2.0/mlflow/runs/search", "/2.0/mlflow/registered-models/get-latest-versions",
        "/2.0/mlflow/logged-models/search", "/3.0/mlflow/traces/search",
        "/3.0/mlflow/traces/batchGetInfos", "/3.0/mlflow/datasets/search"})
    expect(Role::kReader, Method::kPost, path);
  for (const char* path : {"/2.0/mlflow/runs/get", "/2.0/mlflow/metrics/get-history",
                           "/2.0/mlflow-artifacts/artifacts/a/b", "/3.0/mlflow/server-info"})
    expect(Role::kReader, Method::kGet, path);
  for (const char* path :
       {"/2.0/mlflow/runs/create", "/2.0/mlflow/runs/log-batch", "/2.0/mlflow/runs/delete",
        "/2.0/mlflow/experiments/create", "/2.0/mlflow/experiments/delete",
        "/2.0/mlflow/model-versions/create", "/3.0/mlflow/traces"})
    expect(Role::kWriter, Method::kPost, path);
  expect(Role::kOwner, Method::kPost, "/2.0/mlflow/traces/delete-traces");
  expect(Role::kOwner, Method::kPost, "/3.0/mlflow/traces/delete-traces");
  for (const char* path :
       {"/2.0/mlflow/registered-models/delete", "/2.0/mlflow/model-versions/delete",
        "/2.0/mlflow/logged-models/m-1", "/2.0/mlflow-artifacts/artifacts/a/b"})
    expect(Role::kOwner, Method::kDelete, path);
}

// A body is read before it is known who sends it, and memory for bodies is everybody's.
TEST_F(AccountsTest, BodiesOfNobodyAreSmall) {
  add("ada", Role::kAdmin);
  require_users();
  const auto sign_in = [&](const char* header, const char* value) {
    Request made = request(Method::kPost, "/api/corral/v1/sign-in");
    made.headers.emplace_back(header, value);
    return gate(made);
  };
  EXPECT_EQ(sign_in("content-length", "4096"), 200);
  EXPECT_EQ(sign_in("content-length", "4097"), 413);
  EXPECT_EQ(sign_in("content-length", "99999999999999999999"), 413);
  EXPECT_EQ(sign_in("transfer-encoding", "chunked"), 413);
  EXPECT_EQ(sign_in("content-encoding", "gzip"), 413);
  EXPECT_EQ(gate(request(Method::kPost, "/api/corral/v1/sign-out")), 200);
}

// They ask the provider, and end in a token.
TEST_F(AccountsTest, SignInsAtAProviderAreLimitedAndComeByHttpsWhereTokensDo) {
  add("ada", Role::kAdmin);
  require_users();
  Rate rate(2, std::chrono::minutes(10));
  GateRules rules{.hosts = {}, .token = "", .accounts = &accounts_, .sign_ins = &rate};
  Request asked = request(Method::kGet, "/auth/callback");
  asked.peer = "10.0.0.7";
  EXPECT_TRUE(decide(asked, rules).allowed());
  EXPECT_TRUE(decide(asked, rules).allowed());
  const Decision limited = decide(asked, rules);
  ASSERT_FALSE(limited.allowed());
  EXPECT_EQ(limited.answer->status, 429);
  EXPECT_TRUE(decide(request(Method::kGet, "/device"), rules).allowed());
  rules.sign_ins = nullptr;
  rules.tokens_by_https = true;
  const Decision plain = decide(asked, rules);
  ASSERT_FALSE(plain.allowed());
  EXPECT_EQ(plain.answer->status, 403);
  asked.over_tls = true;
  EXPECT_TRUE(decide(asked, rules).allowed());
}

// Another server writes into the database that it asks for nobody.
TEST_F(AccountsTest, AServerThatAsksForUsersDoesSoToItsEnd) {
  add("ada", Role::kAdmin);
  const std::string token = give("ada", Role::kAdmin);
  require_users();
  commit([](store::Writing& writing) { return accounts::require_users(writing, false); });
  EXPECT_TRUE(refresh());
  EXPECT_TRUE(accounts_.required());
  EXPECT_EQ(gate(request(Method::kGet, "/api/corral/v1/runs")), 401);
  EXPECT_EQ(gate(request(Method::kGet, "/api/corral/v1/runs", token)), 200);
}

TEST_F(AccountsTest, TokensThatExpireMeanwhileAreSeen) {
  add("ada", Role::kAdmin);
  give("ada", Role::kReader, in(3));
  refresh();
  EXPECT_FALSE(accounts_.any_expired(in(1), in(2)));
  EXPECT_TRUE(accounts_.any_expired(in(2), in(4)));
  EXPECT_FALSE(accounts_.any_expired(in(4), in(5)));
}

// Everyone who reaches a server without users may do all but prepare to stay.
TEST_F(AccountsTest, WithoutUsersNobodyMakesOneButByTheSocket) {
  EXPECT_EQ(send(Method::kPost, "/api/corral/v1/users", R"({"name":"eve","role":"admin"})").status,
            403);
  EXPECT_EQ(send(Method::kPost, "/api/corral/v1/tokens", R"({"user":"eve"})").status, 403);
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/users").status, 403);
  EXPECT_EQ(ok(Method::kGet, "/api/corral/v1/me").get_string("role"), "admin");
}

// Without an admin; none of it may more, or lasts longer, than that by which it was made.
TEST_F(AccountsTest, UsersMakeTokensOfTheirOwn) {
  add("ada", Role::kAdmin);
  add("bob", Role::kOwner);
  const std::string weak = give("bob", Role::kWriter, in(10));
  require_users();
  context_->who = accounts_.who(weak, sys::utc_now()).value();
  const Json made = ok(Method::kPost, "/api/corral/v1/tokens", R"({"days":90,"label":"mlflow"})");
  EXPECT_EQ(made.get_string("user"), "bob");
  EXPECT_LE(made.get_int("expires_ns"), in(10).time_since_epoch().count());
  const std::string token = made.get_string("token");
  EXPECT_EQ(accounts_.who(token, sys::utc_now())->role, Role::kWriter);
  const auto ask = [&](std::string body) {
    return send(Method::kPost, "/api/corral/v1/tokens", std::move(body)).status;
  };
  EXPECT_EQ(ask(R"({"user":"bob","role":"admin"})"), 200) << "it may what bob's may";
  EXPECT_EQ(ask(R"({"user":"ada"})"), 403);
  EXPECT_EQ(ask(R"({"user":"nobody"})"), 403);
  const Json listed = ok(Method::kGet, "/api/corral/v1/tokens");
  ASSERT_EQ(listed.find("tokens")->as_array()->size(), 3U);
  for (const Json& one : *listed.find("tokens")->as_array())
    EXPECT_EQ(one.get_string("role"), "writer");
  // It goes with the one by which it was made.
  ok(Method::kDelete, "/api/corral/v1/tokens/" + std::string(access_token_id(weak).value_or("")));
  EXPECT_FALSE(accounts_.who(token, sys::utc_now()));
}

// A program's token for reading, which leaked.
TEST_F(AccountsTest, ATokenRevokesNoneThatMayMore) {
  add("ada", Role::kAdmin);
  const std::string strong = give("ada", Role::kAdmin);
  const std::string weak = give("ada", Role::kReader);
  require_users();
  const auto revoke = [&](const std::string& which, const std::string& by) {
    const std::string path =
        "/api/corral/v1/tokens/" + std::string(access_token_id(which).value_or(""));
    context_->who = accounts_.who(by, sys::utc_now()).value();
    return send(Method::kDelete, path).status;
  };
  EXPECT_EQ(revoke(strong, weak), 404);
  EXPECT_TRUE(accounts_.who(strong, sys::utc_now()));
  EXPECT_EQ(revoke(weak, weak), 200);
  EXPECT_FALSE(accounts_.who(weak, sys::utc_now())) << "at once";
}

TEST_F(AccountsTest, SigningInKeepsTheTokenWhereScriptsCannotReadIt) {
  add("ada", Role::kAdmin);
  const std::string body = R"({"token":")" + give("ada", Role::kReader) + "\"}";
  refresh();
  const auto cookie = [&](const char* origin) {
    const Response response = send(Method::kPost, "/api/corral/v1/sign-in", body,
                                   {{"origin", origin}, {"content-type", "application/json"}});
    EXPECT_EQ(response.status, 200) << response.body;
    for (const auto& [name, value] : response.headers) {
      if (name == "Set-Cookie") return value;
    }
    return std::string();
  };
  const std::string plain = cookie("http://lab");
  EXPECT_NE(plain.find("; HttpOnly; SameSite=Strict"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("Secure"), std::string::npos) << plain;
  EXPECT_NE(cookie("https://lab").find("; Secure"), std::string::npos);
  EXPECT_EQ(send(Method::kPost, "/api/corral/v1/sign-in", R"({"token":"no"})").status, 401);
}

TEST_F(AccountsTest, SigningOutForgetsTheTokenBesideWhateverItCameBy) {
  std::string forgotten;
  for (const auto& [name, value] : send(Method::kPost, "/api/corral/v1/sign-out", "{}").headers)
    if (name == "Set-Cookie") forgotten += "\n" + value;
  for (const char* cookie : {"\ncorral_token=;", "\n__Host-corral_token=;"})
    EXPECT_NE(forgotten.find(cookie), std::string::npos) << forgotten;
  EXPECT_NE(forgotten.find("Max-Age=0; Secure"), std::string::npos) << forgotten;
}

// ---- ways to send a token
TEST_F(AccountsTest, ATokenComesAsBearerPasswordOrCookie) {
  add("ada", Role::kAdmin);
  const std::string token = give("ada", Role::kAdmin);
  require_users();
  Request basic = request(Method::kPost, "/api/corral/v1/frames");
  basic.headers.emplace_back("authorization", "Basic " + base64("ada:" + token));
  EXPECT_EQ(gate(basic), 200);

  const auto with_cookie = [&](Method method, std::string_view path) {
    Request made = request(method, path);
    made.headers.emplace_back("cookie", "corral_token=" + token);
    return made;
  };
  EXPECT_EQ(gate(with_cookie(Method::kGet, "/api/corral/v1/runs")), 200);
  EXPECT_EQ(gate(with_cookie(Method::kPost, "/api/corral/v1/runs/changes")), 403)
      << "a page of another site could have sent it";
  Request own = with_cookie(Method::kPost, "/api/corral/v1/runs/changes");
  own.headers.emplace_back("origin", "http://localhost");
  EXPECT_EQ(gate(own), 200);
  Request other = with_cookie(Method::kGet, "/api/corral/v1/runs");
  other.headers.emplace_back("authorization", "Bearer nonsense");
  EXPECT_EQ(gate(other), 401) << "what the client names counts, not its browser's cookie";
  Request address = request(Method::kGet, "/api/corral/v1/runs");
  address.query = {{"token", token}};
  EXPECT_EQ(gate(address), 401) << "an address is kept in histories and logs";
}

TEST_F(AccountsTest, WithoutUsersNothingIsAskedFor) {
  add("ada", Role::kAdmin);
  refresh();
  EXPECT_EQ(gate(request(Method::kPost, "/api/corral/v1/frames")), 200);
}

}  // namespace
}  // namespace corral::server
