// Tests users and tokens as rows, on both engines.
#include "store/tables/accounts.h"

#include <string>

#include "store/engine/database.h"
#include "store/search/test_search.h"
#include "store/tables/audit.h"

namespace corral::store::accounts {
namespace {

class Accounts : public tracking::SearchTest {
 protected:
  void add(const std::string& name, Role role) {
    write([&](Writing& writing) {
      return add_user(writing, {.name = name, .display = "", .role = role, .created = utc_time(5)});
    });
  }
  Result<> change(const UserChange& change) {
    return store_->change([&](Writing& writing) { return change_user(writing, change); });
  }
  Result<> give(const std::string& id, const std::string& user) {
    return store_->change([&](Writing& writing) {
      return add_token(writing, {.id = id,
                                 .hash = sha256(id),
                                 .user = user,
                                 .label = "laptop",
                                 .role = Role::kWriter,
                                 .created = utc_time(10),
                                 .expires = utc_time(20)});
    });
  }
  bool revoke(const std::string& id, std::int64_t now, const std::optional<TokensOf>& only = {}) {
    return write([&](Writing& writing) -> Result<bool> {
      return revoke_token(writing, id, utc_time(now), only);
    });
  }
  State state_now() { return read(state); }
  std::vector<User> all_users() { return read(users); }
  std::vector<Token> all_tokens() { return read(tokens); }
};

INSTANTIATE_TEST_SUITE_P(Engines, Accounts, tracking::both_engines(), tracking::engine_name);

TEST_P(Accounts, ANewStoreAsksForNobody) {
  EXPECT_FALSE(state_now().users);
  EXPECT_EQ(state_now().version, 0);
  EXPECT_TRUE(all_users().empty());
  EXPECT_TRUE(all_tokens().empty());
}

TEST_P(Accounts, AChildIsNoMoreThanItsParent) {
  add("root", Role::kAdmin);
  add("ada", Role::kAdmin);
  ASSERT_TRUE(give("parent", "ada"));  // a writer's, until 20
  const auto child = [&](const std::string& id, const std::string& parent, std::int64_t now = 15) {
    return store_->change([&](Writing& writing) -> Result<> {
      TRY(add_child_token(writing, {.id = id,
                                    .hash = sha256(id),
                                    .user = "",
                                    .label = "",
                                    .role = Role::kAdmin,
                                    .created = utc_time(now),
                                    .expires = utc_time(900),
                                    .parent = parent}));
      return {};
    });
  };
  const auto token = [&](const std::string& id) {
    for (const Token& one : all_tokens())
      if (one.id == id) return one;
    return Token{};
  };
  ASSERT_TRUE(child("child", "parent"));
  EXPECT_EQ(token("child").user, "ada");
  EXPECT_EQ(token("child").role, Role::kWriter);
  EXPECT_EQ(token("child").expires, utc_time(20));
  EXPECT_EQ(token("child").parent, "parent");
  ASSERT_TRUE(child("grandchild", "child"));
  ASSERT_TRUE(give("other", "ada"));
  EXPECT_EQ(child("x", "nothing").error().code, Code::kPermission);
  EXPECT_EQ(child("x", "parent", 20).error().code, Code::kPermission) << "expired";
  ASSERT_TRUE(change({.name = "ada", .role = Role::kReader})) << "whose tokens she still revokes";
  EXPECT_TRUE(revoke("parent", 17, TokensOf{.user = "ada", .role = Role::kReader}));
  for (const char* id : {"parent", "child", "grandchild"})
    EXPECT_EQ(token(id).revoked, utc_time(17)) << id;
  EXPECT_FALSE(token("other").revoked);
  EXPECT_EQ(child("x", "parent").error().code, Code::kPermission) << "revoked";
}

TEST_P(Accounts, EveryChangeGivesAnotherVersion) {
  std::int64_t version = 0;
  const auto changes = [&](std::string_view what) {
    EXPECT_NE(state_now().version, version) << what;
    version = state_now().version;
  };
  add("ada", Role::kAdmin);
  changes("add_user");
  ASSERT_TRUE(change({.name = "ada", .display = "Ada L."}));
  changes("change_user");
  ASSERT_TRUE(give("a", "ada"));
  changes("add_token");
  ASSERT_TRUE(revoke("a", 12));
  changes("revoke_token");
  write([](Writing& writing) { return require_users(writing, true); });
  changes("require_users");
  EXPECT_TRUE(state_now().users);
  add("bob", Role::kAdmin);
  changes("another user");
  write([](Writing& writing) { return delete_user(writing, "ada"); });
  changes("delete_user");
  EXPECT_TRUE(state_now().users) << "further changes leave it";
  write([](Writing& writing) { return require_users(writing, false); });
  EXPECT_FALSE(state_now().users);
}

TEST_P(Accounts, AUserIsChangedByWhatIsGivenAlone) {
  add("bob", Role::kReader);
  add("ada", Role::kAdmin);
  ASSERT_TRUE(change({.name = "bob", .display = "Bob"}));
  ASSERT_TRUE(change({.name = "bob", .role = Role::kOwner}));
  ASSERT_TRUE(change({.name = "bob", .disabled = true}));
  const auto all = all_users();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "ada");
  EXPECT_EQ(all[1].display, "Bob");
  EXPECT_EQ(all[1].role, Role::kOwner);
  EXPECT_TRUE(all[1].disabled);
  EXPECT_EQ(all[1].created, utc_time(5));
  EXPECT_EQ(change({.name = "eve", .disabled = true}).error().code, Code::kNotFound);
  const auto again = store_->change([](Writing& writing) {
    return add_user(writing, {.name = "bob", .display = "", .created = utc_time(6)});
  });
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_EQ(all_users(), all);
}

TEST_P(Accounts, TheLastAdminStaysOne) {
  add("ada", Role::kAdmin);
  EXPECT_EQ(change({.name = "ada", .role = Role::kOwner}).error().code, Code::kUnprocessable);
  EXPECT_EQ(change({.name = "ada", .disabled = true}).error().code, Code::kUnprocessable);
  const auto deleted = store_->change([](Writing& writing) { return delete_user(writing, "ada"); });
  EXPECT_EQ(deleted.error().code, Code::kUnprocessable);
  ASSERT_EQ(all_users().size(), 1U);
  EXPECT_EQ(all_users()[0].role, Role::kAdmin);
  EXPECT_FALSE(all_users()[0].disabled);
  add("bob", Role::kAdmin);
  EXPECT_TRUE(change({.name = "ada", .role = Role::kReader}));
}

TEST_P(Accounts, ATokenIsKeptAsItsHashAndGoesWithItsUser) {
  add("ada", Role::kAdmin);
  add("bob", Role::kWriter);
  ASSERT_TRUE(give("a", "bob"));
  ASSERT_TRUE(give("b", "ada"));
  EXPECT_EQ(give("a", "ada").error().code, Code::kAlreadyExists);
  EXPECT_EQ(give("c", "eve").error().code, Code::kNotFound);
  auto all = all_tokens();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, "a");
  EXPECT_EQ(all[0].hash, sha256("a"));
  EXPECT_EQ(all[0].user, "bob");
  EXPECT_EQ(all[0].label, "laptop");
  EXPECT_EQ(all[0].role, Role::kWriter);
  EXPECT_EQ(all[1].role, Role::kWriter) << "an admin's, made for less";
  EXPECT_EQ(all[0].created, utc_time(10));
  EXPECT_EQ(all[0].expires, utc_time(20));
  EXPECT_FALSE(all[0].revoked);
  write([](Writing& writing) { return delete_user(writing, "bob"); });
  all = all_tokens();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id, "b");
}

TEST_P(Accounts, ATokenIsMadeForNoMoreThanItsUserMay) {
  add("bob", Role::kReader);
  ASSERT_TRUE(give("a", "bob"));
  EXPECT_EQ(all_tokens()[0].role, Role::kReader) << "not the writer that was asked for";
}

TEST_P(Accounts, ARevokedTokenStaysRevokedSinceThen) {
  add("ada", Role::kAdmin);
  ASSERT_TRUE(give("a", "ada"));
  EXPECT_FALSE(revoke("b", 11));
  EXPECT_FALSE(revoke("a", 11, TokensOf{.user = "bob", .role = Role::kOwner})) << "another user's";
  EXPECT_FALSE(revoke("a", 11, TokensOf{.user = "ada", .role = Role::kReader})) << "it may more";
  EXPECT_FALSE(all_tokens()[0].revoked);
  EXPECT_TRUE(revoke("a", 12, TokensOf{.user = "ada", .role = Role::kWriter}));
  const auto version = state_now().version;
  EXPECT_TRUE(revoke("a", 13));
  EXPECT_EQ(state_now().version, version) << "nothing changed";
  EXPECT_EQ(all_tokens()[0].revoked, utc_time(12));
}

TEST_P(Accounts, WhatThisProgramDoesNotKnowGivesNoRights) {
  add("ada", Role::kAdmin);
  ASSERT_TRUE(give("a", "ada"));
  write([](Writing& writing) { return writing->exec("UPDATE users SET role = 99"); });
  write([](Writing& writing) { return writing->exec("UPDATE tokens SET role = -1"); });
  EXPECT_EQ(all_users()[0].role, Role::kAnyone);
  EXPECT_EQ(all_tokens()[0].role, Role::kAnyone);
}

TEST(UserNames, AreShortPlainWords) {
  for (const char* good : {"a", "ada", "ada.lovelace", "ci-2", "0x_"})
    EXPECT_TRUE(valid_user_name(good)) << good;
  for (const char* bad : {"", "Ada", "a b", "-a", ".a", "~ada", "ä", "a/b", "a:b"})
    EXPECT_FALSE(valid_user_name(bad)) << bad;
  EXPECT_TRUE(valid_user_name(std::string(64, 'a')));
  EXPECT_FALSE(valid_user_name(std::string(65, 'a')));
}

TEST_P(Accounts, AnIdentityIsOneUsersAlone) {
  const Identity ada{.issuer = "https://id.lab", .subject = "s-1"};
  const auto user_with = [&](const Identity& identity) {
    return write([&](Writing& writing) { return user_of(writing, identity); });
  };
  add("ada", Role::kReader);
  add("bob", Role::kReader);
  EXPECT_FALSE(user_with(ada));
  ASSERT_TRUE(change({.name = "ada", .identity = ada}));
  ASSERT_TRUE(change({.name = "ada", .identity = ada})) << "once more";
  EXPECT_EQ(user_with(ada)->name, "ada");
  EXPECT_EQ(user_with(ada)->identity, ada);
  EXPECT_FALSE(user_with({.issuer = "https://other.lab", .subject = "s-1"}));
  EXPECT_FALSE(user_with({})) << "bob has none";
  const auto taken = change({.name = "bob", .identity = ada});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kAlreadyExists);
  EXPECT_NE(taken.error().message.find("ada"), std::string::npos);
  EXPECT_FALSE(store_->change([&](Writing& writing) {
    return add_user(writing, {.name = "eve", .display = "", .identity = ada});
  }));
  ASSERT_TRUE(change({.name = "ada", .identity = Identity{}}));
  ASSERT_TRUE(change({.name = "bob", .identity = ada}));
  EXPECT_EQ(user_with(ada)->name, "bob");
}

TEST_P(Accounts, ANewNameIsOneThatNobodyHas) {
  const std::string longest(64, 'a');
  const auto free_name = [&](const std::string& wish) {
    return write([&](Writing& writing) { return free_user_name(writing, wish); });
  };
  EXPECT_EQ(free_name("ada"), "ada");
  add("ada", Role::kReader);
  add("ada-2", Role::kReader);
  EXPECT_EQ(free_name("ada"), "ada-3");
  add(longest, Role::kReader);
  EXPECT_EQ(free_name(longest), longest.substr(0, 62) + "-2");
  for (int i = 2; i < 10; ++i) add("eve-" + std::to_string(i), Role::kReader);
  add("eve", Role::kReader);
  EXPECT_EQ(free_name("eve").size(), std::string("eve-12345678").size());
  // A name of before, of which something is left.
  write([](Writing& writing) {
    return audit::begin(
        writing, {.time = utc_time(1), .user = "bob", .address = "", .request = "", .detail = ""});
  });
  EXPECT_EQ(free_name("bob"), "bob-2");
}

TEST_P(Accounts, WhatASessionLetInOutlivesIt) {
  add("ada", Role::kWriter);
  const auto begin = [&](const std::string& id, std::int64_t now) {
    write([&](Writing& writing) {
      return begin_session(writing, {.id = id,
                                     .hash = sha256(id),
                                     .user = "ada",
                                     .label = "",
                                     .role = Role::kAdmin,
                                     .created = utc_time(now),
                                     .expires = utc_time(now + 10)});
    });
  };
  const auto end = [&](const std::string& id) {
    return write([&](Writing& writing) { return end_session(writing, id); });
  };
  begin("old", 1);
  begin("new", 20);
  EXPECT_EQ(all_tokens().size(), 2U) << "streams that it began may be open";
  begin("new2", 20 + Nanos(std::chrono::hours(1)).count());
  EXPECT_EQ(all_tokens().size(), 2U) << "the old one has long expired";
  write([&](Writing& writing) { return end_session(writing, "new2"); });
  ASSERT_EQ(all_tokens().size(), 1U);
  EXPECT_EQ(all_tokens()[0].origin, Origin::kSession);
  EXPECT_EQ(all_tokens()[0].role, Role::kWriter);
  const auto child = write([&](Writing& writing) {
    return add_child_token(writing, {.id = "child",
                                     .hash = sha256("child"),
                                     .user = "",
                                     .label = "",
                                     .role = Role::kAdmin,
                                     .created = utc_time(21),
                                     .expires = utc_time(90),
                                     .parent = "new"});
  });
  EXPECT_EQ(child.parent, "new");
  EXPECT_EQ(child.origin, Origin::kOfSession);
  EXPECT_EQ(child.expires, utc_time(90));
  EXPECT_EQ(child.role, Role::kWriter);
  EXPECT_FALSE(end("child")) << "no session";
  const auto before = state_now().version;
  EXPECT_TRUE(end("new"));
  EXPECT_NE(state_now().version, before);
  EXPECT_FALSE(end("new"));
  ASSERT_EQ(all_tokens().size(), 1U);
  EXPECT_EQ(all_tokens()[0].id, "child");
  EXPECT_FALSE(all_tokens()[0].revoked);
  // Revoking is not leaving: what it let in goes, too.
  begin("other", 30);
  write([&](Writing& writing) {
    return add_child_token(writing, {.id = "taken",
                                     .hash = sha256("taken"),
                                     .user = "",
                                     .label = "",
                                     .role = Role::kAdmin,
                                     .created = utc_time(31),
                                     .expires = utc_time(31) + 2 * kMostAfterSession,
                                     .parent = "other"});
  });
  EXPECT_EQ(all_tokens()[0].expires, utc_time(31) + kMostAfterSession);
  EXPECT_TRUE(revoke("other", 32));
  EXPECT_TRUE(all_tokens()[0].revoked);
  // As somebody else they are not signed in.
  ASSERT_TRUE(give("own", "ada"));
  ASSERT_TRUE(change({.name = "ada", .identity = Identity{.issuer = "i", .subject = "s"}}));
  ASSERT_EQ(all_tokens().size(), 1U);
  EXPECT_EQ(all_tokens()[0].id, "own");
  begin("last", 40);
  ASSERT_TRUE(change({.name = "ada", .identity = Identity{.issuer = "i", .subject = "s"}}));
  EXPECT_EQ(all_tokens().size(), 2U) << "nothing has changed";
  ASSERT_TRUE(change({.name = "ada", .identity = Identity{}}));
  EXPECT_EQ(all_tokens().size(), 1U);
}

TEST_P(Accounts, AUserMakesOnlySoManyTokens) {
  add("root", Role::kAdmin);
  add("ada", Role::kWriter);
  const auto child = [&](const std::string& id, std::int64_t now) {
    return store_->change([&](Writing& writing) -> Result<> {
      TRY(add_child_token(writing, {.id = id,
                                    .hash = sha256(id),
                                    .user = "",
                                    .label = "",
                                    .role = Role::kReader,
                                    .created = utc_time(now),
                                    .expires = utc_time(now + 5),
                                    .parent = "first"}));
      return {};
    });
  };
  ASSERT_TRUE(give("first", "ada"));  // until 20
  for (int i = 1; i < kMostTokens; ++i) ASSERT_TRUE(child("t" + std::to_string(i), 11));
  const auto full = child("more", 12);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kUnprocessable);
  EXPECT_TRUE(child("later", 17)) << "the others have expired";
}

}  // namespace
}  // namespace corral::store::accounts
