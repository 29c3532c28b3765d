// Tests teams as rows, and as members of spaces, on both engines.
#include "store/tables/teams.h"

#include <string>
#include <vector>

#include "store/search/test_search.h"
#include "store/tables/accounts.h"
#include "store/tables/spaces.h"

namespace corral::store::accounts {
namespace {

using Names = std::vector<std::string>;

class Teams : public tracking::SearchTest {
 protected:
  void SetUp() override {
    tracking::SearchTest::SetUp();
    if (!store_) return;
    for (const char* name : {"ada", "bob", "eve"}) {
      write([&](Writing& writing) {
        return add_user(writing, {.name = name,
                                  .display = "",
                                  .created = utc_time(1),
                                  .identity = {.issuer = kIssuer, .subject = name}});
      });
    }
  }
  Result<> add(const Team& team) {
    return store_->change([&](Writing& writing) { return add_team(writing, team); });
  }
  Result<> change(const TeamChange& change) {
    return store_->change([&](Writing& writing) { return change_team(writing, change); });
  }
  void join(const std::string& user, const Names& groups) {
    write([&](Writing& writing) { return join_groups(writing, user, groups); });
  }
  static constexpr const char* kIssuer = "https://id.lab";
  const Group interns_{kIssuer, "g-interns"};

  std::vector<Team> all() { return read(teams); }
  Names members(std::size_t at = 0) { return all().at(at).members; }
};

INSTANTIATE_TEST_SUITE_P(Engines, Teams, tracking::both_engines(), tracking::engine_name);

TEST_P(Teams, HaveMembersWhoComeAndGo) {
  ASSERT_TRUE(add({.name = "seniors", .members = {"bob", "ada", "bob"}, .group = {}}));
  EXPECT_EQ(members(), (Names{"ada", "bob"}));
  EXPECT_EQ(add({.name = "seniors", .members = {}, .group = {}}).error().code,
            Code::kAlreadyExists);
  EXPECT_EQ(add({.name = "juniors", .members = {"mal"}, .group = {}}).error().code,
            Code::kNotFound);
  EXPECT_EQ(all().size(), 1U) << "what failed left nothing";
  ASSERT_TRUE(change({.team = "seniors", .add = {"eve"}, .remove = {"ada"}}));
  EXPECT_EQ(members(), (Names{"bob", "eve"}));
  EXPECT_EQ(change({.team = "none", .add = {}, .remove = {}}).error().code, Code::kNotFound);
  write([](Writing& writing) { return delete_user(writing, "bob"); });
  EXPECT_EQ(members(), Names{"eve"});
}

TEST_P(Teams, AreMembersOfSpaces) {
  ASSERT_TRUE(add({.name = "seniors", .members = {"ada"}, .group = {}}));
  const auto spaces_now = [&] { return read(spaces).at(0).members; };
  write([](Writing& writing) {
    return add_space(writing, {.name = "vision", .members = {"bob", "@seniors", "@seniors"}});
  });
  EXPECT_EQ(spaces_now(), (Names{"@seniors", "bob"}));
  const auto unknown = store_->change([](Writing& writing) {
    return change_members(writing, {.space = "vision", .add = {"@bob"}, .remove = {}});
  });
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "there is no team 'bob'");
  write([](Writing& writing) {
    return change_members(writing, {.space = "vision", .add = {}, .remove = {"@seniors"}});
  });
  EXPECT_EQ(spaces_now(), Names{"bob"});
  write([](Writing& writing) {
    return change_members(writing, {.space = "vision", .add = {"@seniors"}, .remove = {}});
  });
  write([](Writing& writing) { return delete_team(writing, "seniors"); });
  EXPECT_EQ(spaces_now(), Names{"bob"});
  EXPECT_TRUE(all().empty());
  write([](Writing& writing) { return delete_space(writing, "vision", IfUsed::kRefuse); });
}

TEST_P(Teams, AreGroupsOfTheProvider) {
  ASSERT_TRUE(add({.name = "interns", .members = {"eve"}, .group = interns_}));
  ASSERT_TRUE(add({.name = "seniors", .members = {}, .group = {kIssuer, "g-seniors"}}));
  ASSERT_TRUE(add({.name = "others", .members = {}, .group = {}}));
  EXPECT_EQ(add({.name = "more", .members = {}, .group = interns_}).error().code,
            Code::kAlreadyExists);
  join("ada", {"g-interns", "unknown", "g-interns", ""});
  join("eve", {"g-seniors"});
  EXPECT_EQ(members(0), (Names{"ada", "eve"})) << "an admin added eve";
  EXPECT_EQ(members(2), Names{"eve"});
  EXPECT_TRUE(members(1).empty());
  join("ada", {"g-seniors"});
  join("eve", {});
  EXPECT_EQ(members(0), Names{"eve"});
  EXPECT_EQ(members(2), Names{"ada"});
  // An admin makes sure of somebody; the members of another group go.
  ASSERT_TRUE(change({.team = "seniors", .add = {"ada"}, .remove = {}}));
  join("ada", {});
  join("bob", {"g-seniors"});
  EXPECT_EQ(members(2), (Names{"ada", "bob"}));
  ASSERT_TRUE(
      change({.team = "seniors", .add = {}, .remove = {}, .group = Group{kIssuer, "g-others"}}));
  EXPECT_EQ(members(2), Names{"ada"});
  EXPECT_EQ(change({.team = "seniors", .add = {}, .remove = {}, .group = interns_}).error().code,
            Code::kAlreadyExists);
  ASSERT_TRUE(change({.team = "seniors", .add = {}, .remove = {}, .group = Group()}));
  EXPECT_EQ(all().at(2).group, Group());
}

TEST_P(Teams, AGroupIsOneOfItsProvider) {
  ASSERT_TRUE(add({.name = "ours", .members = {}, .group = interns_}));
  ASSERT_TRUE(add({.name = "theirs", .members = {}, .group = {"https://other.lab", "g-interns"}}));
  join("ada", {"g-interns"});
  EXPECT_EQ(members(0), Names{"ada"});
  EXPECT_TRUE(members(1).empty());
  // The same group once more changes nothing.
  ASSERT_TRUE(change({.team = "ours", .add = {}, .remove = {}, .group = interns_}));
  EXPECT_EQ(members(0), Names{"ada"});
  // A user who becomes somebody else there is not in it any more.
  ASSERT_TRUE(store_->change([&](Writing& writing) {
    return change_user(writing, {.name = "ada", .identity = Identity{kIssuer, "other"}});
  }));
  EXPECT_TRUE(members(0).empty());
}

TEST_P(Teams, LetTheirMembersIntoSpaces) {
  const std::vector<Team> teams{{.name = "a", .members = {"ada", "bob"}, .group = {}},
                                {.name = "b", .members = {"eve"}, .group = {}}};
  const auto people = people_of({.name = "s", .members = {"@a", "@gone", "mal"}}, teams);
  EXPECT_EQ(people, (std::set<std::string, std::less<>>{"@gone", "ada", "bob", "mal"}));
}

}  // namespace
}  // namespace corral::store::accounts
