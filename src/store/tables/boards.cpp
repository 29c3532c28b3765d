#include "store/tables/boards.h"

#include <fmt/core.h>

#include <algorithm>
#include "store/engine/database.h"

namespace corral::store::page {
namespace {

using sql::Connection;
using sql::Statement;

Result<SavedBoard> make_board(Connection& db, const BoardChange& change, UtcTime now) {
  if (TRY(db.number("SELECT count(*) FROM boards")).value_or(0) >= kMostBoards) {
    return fail(Code::kTooLarge,
                fmt::format("there are {} boards: delete one that nobody needs", kMostBoards));
  }
  const auto made =
      TRY(db.number("INSERT INTO boards (name, updated, state) VALUES (?1, ?2, ?3) ON CONFLICT "
                    "(name) DO NOTHING RETURNING updated",
                    change.name, now, change.state));
  if (!made) return fail(Code::kConflict, "the board was made meanwhile");
  return SavedBoard{.saved = true, .updated = now};
}

}  // namespace

Result<SavedBoard> save_board(Writing& writing, const BoardChange& change, UtcTime now) {
  sql::Connection& db = writing;
  const auto known = TRY(
      db.number("SELECT updated FROM boards WHERE name = ?1" + std::string(db.dialect().lock_row),
                change.name));
  if (change.expected && ns_of(*change.expected) != known.value_or(0)) {
    return SavedBoard{.saved = false,
                      .updated = known ? std::optional(utc_time(*known)) : std::nullopt};
  }
  if (!known) return make_board(db, change, now);
  const UtcTime updated = std::max(now, utc_time(*known + 1));
  TRY(db.exec("UPDATE boards SET state = ?2, updated = ?3 WHERE name = ?1", change.name,
              change.state, updated));
  return SavedBoard{.saved = true, .updated = updated};
}

Result<std::vector<Board>> boards(Reading& reading) {
  sql::Connection& db = reading;
  std::vector<Board> all;
  Statement row = TRY(db.query("SELECT name, state, updated FROM boards ORDER BY name"));
  while (TRY(row.step()))
    all.push_back({.name = row.text(0), .state = row.text(1), .updated = row.utc(2)});
  return all;
}

Result<bool> delete_board(Writing& writing, std::string_view name) {
  sql::Connection& db = writing;
  return TRY(db.number("DELETE FROM boards WHERE name = ?1 RETURNING 1", name)).has_value();
}

}  // namespace corral::store::page
