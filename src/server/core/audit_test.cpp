// Tests what the audit keeps, over a real store and the server's routes.
#include "server/core/audit.h"

#include "core/access_token.h"
#include "server/core/test_handlers.h"
#include "store/tables/accounts.h"
#include "store/tables/audit.h"
#include "sys/clock.h"

namespace corral::server {
namespace {

namespace accounts = store::accounts;

class AuditTest : public HandlerTest {
 protected:
  AuditTest() {
    const auto done = store_->change([&](store::Writing& writing) -> Result<> {
      TRY(accounts::require_users(writing, true));
      TRY(accounts::add_user(writing, {.name = "ada", .display = "", .role = Role::kAdmin}));
      return accounts::add_token(writing, {.id = token_.id,
                                           .hash = sha256(token_.text),
                                           .user = "ada",
                                           .label = "",
                                           .role = Role::kAdmin,
                                           .expires = sys::utc_now() + std::chrono::hours(1)});
    });
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_TRUE(accounts_.refresh());
    context_->who = accounts_.who(token_.text, sys::utc_now()).value();
  }
  Request request(Method method, std::string_view target, std::string body = {}) const {
    Request made;
    made.method = method;
    EXPECT_TRUE(parse_target(target, made));
    made.peer = "10.0.0.7";
    made.body = std::move(body);
    return made;
  }
  int carry_out(Request request) {
    EXPECT_TRUE(is_audited(request)) << request.path;
    return audited(std::move(request), *context_).status;
  }
  // The newest first.
  std::vector<store::audit::Entry> entries() {
    const auto read = [](store::Reading& reading) { return store::audit::entries(reading, {}); };
    return in_snapshot(context_->reader, read).value();
  }

  const AccessToken token_ = make_access_token();
};

// The audit is kept for more than a year: nobody who may only read fills it.
TEST_F(AuditTest, WhatReadersSendIsListedBrieflyAndNotTooOften) {
  const std::string path = "/api/corral/v1/tokens/nothing";
  const auto ask = [&] {
    return carry_out(request(Method::kDelete, path, std::string(60'000, 'x')));
  };
  EXPECT_EQ(ask(), 404);
  EXPECT_LT(entries().at(0).detail.size(), 300U);
  int status = 404;
  for (int i = 1; i < 250 && status == 404; ++i) status = ask();
  EXPECT_EQ(status, 429);
  EXPECT_EQ(entries().size(), 100U) << "a page of them";
  EXPECT_EQ(carry_out(request(Method::kPost, "/api/corral/v1/users", R"({"name":"bob"})")), 200)
      << "an admin's doings are another matter";
}

TEST_F(AuditTest, AnEntrySaysWhoFromWhereAndWhatCameOfIt) {
  EXPECT_EQ(carry_out(request(Method::kPost, "/api/corral/v1/users", R"({"name":"bob"})")), 200);
  EXPECT_EQ(carry_out(request(Method::kDelete, "/api/corral/v1/runs/nothing?force=true")), 404);
  const auto all = entries();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].user, "ada");
  EXPECT_EQ(all[1].address, "10.0.0.7");
  EXPECT_EQ(all[1].request, "POST /api/corral/v1/users");
  EXPECT_EQ(all[1].detail, R"({"name":"bob"})");
  EXPECT_EQ(all[1].status, 200);
  EXPECT_EQ(all[0].request, "DELETE /api/corral/v1/runs/nothing?force=true");
  EXPECT_EQ(all[0].status, 404);
}

TEST_F(AuditTest, ASignInNamesTheUserAndKeepsNoToken) {
  const auto sign_in = [&](const std::string& token) {
    Request made =
        request(Method::kPost, "/api/corral/v1/sign-in", R"({"token":")" + token + "\"}");
    made.headers.clear();
    return carry_out(std::move(made));
  };
  EXPECT_EQ(sign_in(token_.text), 200);
  EXPECT_EQ(sign_in(make_access_token().text), 401);
  const auto all = entries();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].user, "ada");
  EXPECT_EQ(all[0].user, "");
  EXPECT_EQ(all[0].status, 401);
  for (const auto& entry : all) EXPECT_EQ(entry.detail, "");
}

TEST_F(AuditTest, BytesThatNoDatabaseTakesDoNotStopARequest) {
  const std::string body = std::string("\0\xff", 2) + std::string(100'000, 'x');
  EXPECT_EQ(carry_out(request(Method::kPost, "/api/corral/v1/users", body)), 400);
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_TRUE(entries()[0].detail.starts_with("\uFFFDx"));
  EXPECT_TRUE(entries()[0].detail.ends_with("x ... (100002 bytes)"));
  EXPECT_LE(entries()[0].detail.size(), 70'000U);
}

TEST_F(AuditTest, WhatItMeansIsNotHiddenAndSecretsAre) {
  const std::string blanks(100'000, ' ');
  carry_out(request(Method::kPost, "/api/corral/v1/runs/changes?token=secret&x=1%26force%3Dtrue",
                    "{" + blanks + R"("runs":["a"]})"));
  EXPECT_EQ(entries()[0].detail, R"({"runs":["a"]})");
  EXPECT_EQ(entries()[0].request, "POST /api/corral/v1/runs/changes?x=1%26force%3Dtrue");
  carry_out(request(Method::kPost, "/api/corral/v1/sign-in?other=secret", "{}"));
  EXPECT_EQ(entries()[0].request, "POST /api/corral/v1/sign-in");
}

TEST_F(AuditTest, RefusedSignInsDoNotFillIt) {
  constexpr std::size_t kListed = 1000;
  for (std::size_t i = 0; i < kListed; ++i)
    ASSERT_FALSE(context_->listed_refusals->take("", sys::boot_now()));
  EXPECT_EQ(carry_out(request(Method::kPost, "/api/corral/v1/sign-in", "{}")), 401);
  EXPECT_TRUE(entries().empty());
}

// Every route that needs more than a writer, whatever is added later.
TEST_F(AuditTest, WhatNeedsMoreThanAWriterIsAudited) {
  const auto of_pattern = [&](const Route& route) {
    std::string path;
    bool in_parameter = false;
    for (const char c : route.pattern) {
      if (c == '{') path += 'x';
      in_parameter = c == '{' || (in_parameter && c != '}');
      if (!in_parameter && c != '}') path += c;
    }
    return request(route.method, path);
  };
  int found = 0;
  for (const Route& route : routes()) {
    if (route.method == Method::kGet) {
      EXPECT_FALSE(is_audited(of_pattern(route))) << route.pattern;
    } else if (route.pattern == "/api/corral/v1/stop") {
      EXPECT_FALSE(is_audited(of_pattern(route))) << "also where nothing can be stored";
    } else if (role_for(route) > Role::kWriter) {
      EXPECT_TRUE(is_audited(of_pattern(route))) << route.pattern;
      ++found;
    }
  }
  EXPECT_GE(found, 6);
  for (const char* quiet : {"frames", "runs/search", "views", "runs/x/notes", "sign-out"})
    EXPECT_FALSE(is_audited(request(Method::kPost, std::string("/api/corral/v1/") + quiet)))
        << quiet;
  for (const char* path : {"codes", "sign-in", "runs/changes"})
    EXPECT_TRUE(is_audited(request(Method::kPost, std::string("/api/corral/v1/") + path))) << path;
  EXPECT_TRUE(is_audited(request(Method::kDelete, "/api/corral/v1/tokens/x")));
  EXPECT_FALSE(is_audited(request(Method::kPost, "/somewhere/sign-in"))) << "it has no route";
  if (!door::owns("/api/2.0/mlflow")) return;
  for (const char* path : {"runs/delete", "runs/restore", "experiments/delete",
                           "experiments/restore", "traces/delete-traces"})
    EXPECT_TRUE(is_audited(request(Method::kPost, std::string("/api/2.0/mlflow/") + path))) << path;
  EXPECT_TRUE(is_audited(request(Method::kDelete, "/ajax-api/2.0/mlflow/model-versions/delete")));
  EXPECT_FALSE(is_audited(request(Method::kPost, "/api/2.0/mlflow/runs/log-metric")));
}

}  // namespace
}  // namespace corral::server
