#include "store/tables/spaces.h"

#include <fmt/core.h>

#include <array>

#include "store/engine/database.h"
#include "store/tables/accounts.h"

namespace corral::store::accounts {
namespace {

using sql::Statement;

Result<std::int64_t> find_space(Writing& writing, std::string_view name) {
  const auto id = TRY(writing->number("SELECT id FROM spaces WHERE name = ?1", name));
  if (!id) return fail(Code::kNotFound, fmt::format("there is no space '{}'", name));
  return *id;
}

// A member of spaces: a user, or a team.
struct Member {
  bool is_team = false;
  std::int64_t id = 0;
};
Result<Member> find_member(Writing& writing, std::string_view name) {
  const bool is_team = name.starts_with('@');
  const auto id =
      TRY(is_team ? writing->number("SELECT id FROM teams WHERE name = ?1", name.substr(1))
                  : writing->number("SELECT id FROM users WHERE name = ?1", name));
  if (id) return Member{is_team, *id};
  return fail(Code::kNotFound,
              fmt::format("there is no {} '{}'", is_team ? "team" : "user", name.substr(is_team)));
}

Result<> add_members(Writing& writing, std::int64_t space, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const Member member = TRY(find_member(writing, name));
    TRY(writing->exec(member.is_team ? "INSERT INTO space_teams (space, team) VALUES (?1, ?2) ON "
                                       "CONFLICT (space, team) DO NOTHING"
                                     : "INSERT INTO space_members (space, member) VALUES (?1, ?2) "
                                       "ON CONFLICT (space, member) DO NOTHING",
                      space, member.id));
  }
  return {};
}

// Counts, in words, what lies in the space; empty: nothing.
Result<std::string> used_by(Writing& writing, std::string_view space) {
  struct Kind {
    std::string_view table, word;
    char separator;
  };
  constexpr std::array kKinds = {Kind{"experiments", "experiment", '/'},
                                 Kind{"registered_models", "registered model", '.'},
                                 Kind{"boards", "board, list or report", '/'}};
  std::string words;
  for (const auto& [table, word, separator] : kKinds) {
    const std::string prefix = std::string(space) + separator;
    const auto count = TRY(writing->number(
        fmt::format("SELECT count(*) FROM {} WHERE substr(name, 1, {}) = ?1", table, prefix.size()),
        prefix));
    if (count.value_or(0) > 0)
      words +=
          fmt::format("{}{} {}{}", words.empty() ? "" : ", ", *count, word, *count == 1 ? "" : "s");
  }
  return words;
}

}  // namespace

bool valid_space_name(std::string_view name) {
  return valid_user_name(name) && name.find('.') == std::string_view::npos;
}

Result<std::vector<Space>> spaces(Reading& reading) {
  std::vector<Space> all;
  Statement row = TRY(reading->query(
      "SELECT s.name, s.created, m.name FROM spaces s LEFT JOIN (SELECT a.space, u.name FROM "
      "space_members a JOIN users u ON u.id = a.member UNION ALL SELECT b.space, '@' || t.name "
      "FROM space_teams b JOIN teams t ON t.id = b.team) m ON m.space = s.id ORDER BY s.name, "
      "m.name"));
  while (TRY(row.step())) {
    if (all.empty() || all.back().name != row.text(0))
      all.push_back({.name = row.text(0), .members = {}, .created = row.utc(1)});
    if (!row.is_null(2)) all.back().members.push_back(row.text(2));
  }
  return all;
}

Result<> add_space(Writing& writing, const Space& space) {
  TRY(mark_change(writing));
  const auto id = TRY(
      writing->number("INSERT INTO spaces (name, created) VALUES (?1, ?2) ON CONFLICT (name) DO "
                      "NOTHING RETURNING id",
                      space.name, space.created));
  if (!id)
    return fail(Code::kAlreadyExists, fmt::format("there is a space '{}' already", space.name));
  return add_members(writing, *id, space.members);
}

Result<> change_members(Writing& writing, const MemberChange& change) {
  TRY(mark_change(writing));
  const std::int64_t space = TRY(find_space(writing, change.space));
  TRY(add_members(writing, space, change.add));
  for (const std::string& name : change.remove) {
    const Member member = TRY(find_member(writing, name));
    TRY(writing->exec(member.is_team ? "DELETE FROM space_teams WHERE space = ?1 AND team = ?2"
                                     : "DELETE FROM space_members WHERE space = ?1 AND member = ?2",
                      space, member.id));
  }
  return {};
}

Result<> delete_space(Writing& writing, std::string_view name, IfUsed used) {
  TRY(mark_change(writing));
  const std::int64_t space = TRY(find_space(writing, name));
  const std::string words = TRY(used_by(writing, name));
  if (used == IfUsed::kRefuse && !words.empty()) {
    return fail(Code::kUnprocessable,
                fmt::format("in the space '{}' lie {}, which everybody would see", name, words));
  }
  TRY(writing->exec("DELETE FROM space_members WHERE space = ?1", space));
  TRY(writing->exec("DELETE FROM space_teams WHERE space = ?1", space));
  return writing->exec("DELETE FROM spaces WHERE id = ?1", space);
}

Result<bool> are_in_different_spaces(Writing& writing, std::string_view name,
                                     std::string_view other) {
  return TRY(writing->number("SELECT 1 FROM spaces s WHERE (substr(?1, 1, length(s.name) + 1) = "
                             "s.name || '/') <> (substr(?2, 1, length(s.name) + 1) = s.name || "
                             "'/') LIMIT 1",
                             name, other))
      .has_value();
}

Result<bool> is_hidden_id(Reading& reading, std::string_view id) {
  if (reading.access().sees_all()) return false;
  if (const auto number = RunId::parse(id)) {
    if (TRY(reading->number("SELECT 1 FROM hidden_ids WHERE id = ?1", *number))) return true;
  }
  return TRY(reading->number("SELECT 1 FROM hidden_names WHERE id = ?1", id)).has_value();
}

Result<bool> is_seen_id(Reading& reading, std::string_view id) {
  if (const auto run = RunId::parse(id)) {
    if (TRY(reading->number("SELECT 1 FROM runs WHERE id = ?1", *run))) return true;
  }
  return TRY(reading->number("SELECT 1 FROM logged_models WHERE id = ?1 UNION ALL SELECT 1 FROM "
                             "traces WHERE id = ?1",
                             id))
      .has_value();
}

Result<bool> is_hidden(Reading& reading, ExperimentId id) {
  if (reading.access().sees_all()) return false;
  return TRY(reading->number("SELECT 1 FROM hidden_experiments WHERE id = ?1", id)).has_value();
}

Result<std::vector<std::string>> hidden_locations(Reading& reading) {
  if (reading.access().sees_all()) return std::vector<std::string>();
  return sql::read_all(reading->query("SELECT artifact_location FROM hidden_experiments WHERE "
                                      "artifact_location <> ''"),
                       [](const Statement& row) { return row.text(0); });
}

}  // namespace corral::store::accounts
