// Teams: users who are let into spaces together. Rows of `teams`, `team_members` and `space_teams`.
//
// A space's member "@vision" is the team "vision" (spaces.h). A team may be a group of the provider
// at which users sign in: who is in that group joins at each sign-in, and who is not leaves.
// Members whom an admin added stay. Free functions over the caller's snapshot or transaction. Every
// change gives the accounts another version (accounts.h).
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "store/model/transaction.h"
#include "store/tables/spaces.h"

namespace corral::store::accounts {

// A group of a provider of OpenID Connect. Both empty: none.
struct Group {
  std::string issuer;
  std::string name;

  bool operator==(const Group&) const = default;
};

struct Team {
  std::string name;                  // unique; see valid_space_name()
  std::vector<std::string> members;  // names of users, sorted
  Group group{};                     // unique
  UtcTime created{};

  bool operator==(const Team&) const = default;
};

// By name.
Result<std::vector<Team>> teams(Reading& reading);
// kAlreadyExists: a team has this name, or this group. kNotFound: a member is no user.
Result<> add_team(Writing& writing, const Team& team);

struct TeamChange {
  std::string team;
  std::vector<std::string> add, remove;  // names of users
  std::optional<Group> group{};
};
// Errors as of add_team(), and kNotFound: there is no such team.
Result<> change_team(Writing& writing, const TeamChange& change);
// Its members leave the spaces that it was let into. kNotFound.
Result<> delete_team(Writing& writing, std::string_view name);

// The user is in groups of these names at their provider, and in no other.
Result<> join_groups(Writing& writing, std::string_view user,
                     const std::vector<std::string>& groups);

// The names of the users whom a space lets in, by themselves and in teams.
std::set<std::string, std::less<>> people_of(const Space& space, const std::vector<Team>& teams);

}  // namespace corral::store::accounts
