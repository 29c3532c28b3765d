#include "store/tables/notes.h"

#include <fmt/core.h>
#include "store/engine/database.h"

namespace corral::store::page {
namespace {

using sql::Connection;
using sql::Statement;

}  // namespace

Result<Note> add_note(Writing& writing, RunId run, const NoteText& content, UtcTime now) {
  sql::Connection& db = writing;
  // Held until the note is written: a removal takes it along, or there is no run any more.
  const auto key = TRY(
      db.number("SELECT key FROM runs WHERE id = ?1" + std::string(db.dialect().lock_row), run));
  if (!key) return fail(Code::kNotFound, fmt::format("no run {}", run.hex()));
  if (TRY(db.number("SELECT count(*) FROM notes WHERE run = ?1", *key)).value_or(0) >= kMostNotes) {
    return fail(Code::kTooLarge,
                fmt::format("the run has {} notes: delete one that nobody needs", kMostNotes));
  }
  const auto id = TRY(
      db.number("INSERT INTO notes (run, time, created, text) VALUES (?1, ?2, ?3, ?4) RETURNING id",
                *key, content.time, now, content.text));
  if (!id) return fail(Code::kInternal, "the note got no id");
  return Note{.id = *id, .content = content, .created = now};
}

Result<std::vector<Note>> notes(Reading& reading, RunId run) {
  sql::Connection& db = reading;
  std::vector<Note> all;
  Statement row = TRY(
      db.query("SELECT id, time, text, created FROM notes WHERE run = (SELECT key FROM runs WHERE "
               "id = ?1) ORDER BY id",
               run));
  while (TRY(row.step())) {
    all.push_back({.id = row.integer(0),
                   .content = {.time = row.is_null(1) ? std::nullopt : std::optional(row.utc(1)),
                               .text = row.text(2)},
                   .created = row.utc(3)});
  }
  return all;
}

Result<std::optional<Note>> change_note(Writing& writing, RunId run, std::int64_t id,
                                        const NoteText& content) {
  sql::Connection& db = writing;
  const auto created = TRY(
      db.number("UPDATE notes SET time = ?3, text = ?4 WHERE id = ?2 AND run = (SELECT key FROM "
                "runs WHERE id = ?1) RETURNING created",
                run, id, content.time, content.text));
  if (!created) return std::nullopt;
  return Note{.id = id, .content = content, .created = utc_time(*created)};
}

Result<bool> delete_note(Writing& writing, RunId run, std::int64_t id) {
  sql::Connection& db = writing;
  return TRY(db.number("DELETE FROM notes WHERE id = ?2 AND run = (SELECT key FROM runs WHERE id = "
                       "?1) RETURNING 1",
                       run, id))
      .has_value();
}

}  // namespace corral::store::page
