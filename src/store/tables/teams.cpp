#include "store/tables/teams.h"

#include <fmt/core.h>

#include "store/engine/database.h"
#include "store/tables/accounts.h"

namespace corral::store::accounts {
namespace {

using sql::Statement;

// The column `given`: an admin, or the provider, made somebody a member.
constexpr int kByAdmin = 0;
constexpr int kByProvider = 1;

Result<std::int64_t> find_team(Writing& writing, std::string_view name) {
  const auto id = TRY(writing->number("SELECT id FROM teams WHERE name = ?1", name));
  if (!id) return fail(Code::kNotFound, fmt::format("there is no team '{}'", name));
  return *id;
}

Result<std::int64_t> find_user(Writing& writing, std::string_view name) {
  const auto id = TRY(writing->number("SELECT id FROM users WHERE name = ?1", name));
  if (!id) return fail(Code::kNotFound, fmt::format("there is no user '{}'", name));
  return *id;
}

Result<> add_members(Writing& writing, std::int64_t team, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::int64_t user = TRY(find_user(writing, name));
    TRY(writing->exec(
        "INSERT INTO team_members (team, member, given) VALUES (?1, ?2, ?3) ON CONFLICT (team, "
        "member) DO UPDATE SET given = ?3",
        team, user, kByAdmin));
  }
  return {};
}

Result<> set_group(Writing& writing, std::int64_t team, const Group& group) {
  const auto owner = TRY(writing->number(
      "SELECT id FROM teams WHERE issuer = ?1 AND provider_group = ?2", group.issuer, group.name));
  if (owner && *owner != team) {
    return fail(Code::kAlreadyExists,
                fmt::format("another team is the group '{}' already", group.name));
  }
  if (owner) return {};
  const auto text = [](const std::string& some) {
    return some.empty() ? std::nullopt : std::optional<std::string_view>(some);
  };
  TRY(writing->exec("DELETE FROM team_members WHERE team = ?1 AND given = ?2", team, kByProvider));
  return writing->exec("UPDATE teams SET issuer = ?2, provider_group = ?3 WHERE id = ?1", team,
                       text(group.issuer), text(group.name));
}

}  // namespace

Result<std::vector<Team>> teams(Reading& reading) {
  std::vector<Team> all;
  Statement row = TRY(
      reading->query("SELECT t.name, t.created, t.issuer, t.provider_group, u.name FROM teams t "
                     "LEFT JOIN team_members m ON "
                     "m.team = t.id LEFT JOIN users u ON u.id = m.member ORDER BY t.name, u.name"));
  while (TRY(row.step())) {
    if (all.empty() || all.back().name != row.text(0)) {
      all.push_back({.name = row.text(0),
                     .members = {},
                     .group = {row.text(2), row.text(3)},
                     .created = row.utc(1)});
    }
    if (!row.is_null(4)) all.back().members.push_back(row.text(4));
  }
  return all;
}

Result<> add_team(Writing& writing, const Team& team) {
  TRY(mark_change(writing));
  const auto id = TRY(writing->number(
      "INSERT INTO teams (name, created) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING RETURNING "
      "id",
      team.name, team.created));
  if (!id)
    return fail(Code::kAlreadyExists, fmt::format("there is a team '{}' already", team.name));
  if (!team.group.name.empty()) TRY(set_group(writing, *id, team.group));
  return add_members(writing, *id, team.members);
}

Result<> change_team(Writing& writing, const TeamChange& change) {
  TRY(mark_change(writing));
  const std::int64_t team = TRY(find_team(writing, change.team));
  if (change.group) TRY(set_group(writing, team, *change.group));
  TRY(add_members(writing, team, change.add));
  for (const std::string& name : change.remove) {
    const std::int64_t user = TRY(find_user(writing, name));
    TRY(writing->exec("DELETE FROM team_members WHERE team = ?1 AND member = ?2", team, user));
  }
  return {};
}

Result<> delete_team(Writing& writing, std::string_view name) {
  TRY(mark_change(writing));
  const std::int64_t team = TRY(find_team(writing, name));
  TRY(writing->exec("DELETE FROM space_teams WHERE team = ?1", team));
  TRY(writing->exec("DELETE FROM team_members WHERE team = ?1", team));
  return writing->exec("DELETE FROM teams WHERE id = ?1", team);
}

Result<> join_groups(Writing& writing, std::string_view user,
                     const std::vector<std::string>& groups) {
  TRY(mark_change(writing));
  const std::int64_t member = TRY(find_user(writing, user));
  TRY(writing->exec("DELETE FROM team_members WHERE member = ?1 AND given = ?2", member,
                    kByProvider));
  for (const std::string& group : groups) {
    TRY(writing->exec(
        "INSERT INTO team_members (team, member, given) SELECT t.id, u.id, ?3 FROM teams t "
        "JOIN users u ON u.issuer = t.issuer WHERE t.provider_group = ?1 AND u.id = ?2 ON CONFLICT "
        "(team, member) DO NOTHING",
        group, member, kByProvider));
  }
  return {};
}

std::set<std::string, std::less<>> people_of(const Space& space, const std::vector<Team>& teams) {
  std::set<std::string, std::less<>> people(space.members.begin(), space.members.end());
  for (const Team& team : teams)
    if (people.erase("@" + team.name) > 0) people.insert(team.members.begin(), team.members.end());
  return people;
}

}  // namespace corral::store::accounts
