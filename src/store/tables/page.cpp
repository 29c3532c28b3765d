#include "store/tables/page.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/sha256.h"
#include "store/engine/database.h"

namespace corral::store::page {

using sql::Statement;

// ---- boards, lists of runs and reports
namespace {

std::int64_t number_of(BoardKind kind) { return static_cast<std::int64_t>(kind); }

// A list of them is answered whole.
Result<> check_room(Writing& writing, const BoardChange& change) {
  const auto bytes =
      TRY(writing->number("SELECT sum(length(state)) FROM boards WHERE kind = ?1 AND name <> ?2",
                          number_of(change.kind), change.name));
  if (bytes.value_or(0) + static_cast<std::int64_t>(change.state.size()) <= kMostBoardBytes)
    return {};
  return fail(Code::kTooLarge,
              fmt::format("all {0}s have {1} MiB: delete or shorten one that nobody needs",
                          kind_name(change.kind), kMostBoardBytes >> 20));
}

Result<SavedBoard> make_board(Writing& writing, const BoardChange& change, UtcTime now) {
  const std::int64_t kind = number_of(change.kind);
  const auto count =
      TRY(writing->number("SELECT count(*) FROM boards WHERE kind = ?1", kind)).value_or(0);
  if (count >= kMostBoards) {
    return fail(Code::kTooLarge, fmt::format("there are {} {}s: delete one that nobody needs",
                                             kMostBoards, kind_name(change.kind)));
  }
  const auto made = TRY(
      writing->number("INSERT INTO boards (kind, name, updated, state) VALUES (?1, ?2, ?3, ?4) ON "
                      "CONFLICT (kind, name) DO NOTHING RETURNING updated",
                      kind, change.name, now, change.state));
  if (!made)
    return fail(Code::kConflict, fmt::format("the {} was made meanwhile", kind_name(change.kind)));
  return SavedBoard{.saved = true, .updated = now};
}

}  // namespace

std::string_view kind_name(BoardKind kind) {
  switch (kind) {
    case BoardKind::kBoard:
      return "board";
    case BoardKind::kRunList:
      return "list";
    case BoardKind::kReport:
      return "report";
  }
  return "board";
}

Result<SavedBoard> save_board(Writing& writing, const BoardChange& change, UtcTime now) {
  const std::int64_t kind = number_of(change.kind);
  const auto known =
      TRY(writing->number("SELECT updated FROM boards WHERE kind = ?1 AND name = ?2" +
                              std::string(writing->dialect().lock_row),
                          kind, change.name));
  if (change.expected && ns_of(*change.expected) != known.value_or(0)) {
    return SavedBoard{.saved = false,
                      .updated = known ? std::optional(utc_time(*known)) : std::nullopt};
  }
  TRY(check_room(writing, change));
  if (!known) return make_board(writing, change, now);
  const UtcTime updated = std::max(now, utc_time(*known + 1));
  TRY(writing->exec("UPDATE boards SET state = ?3, updated = ?4 WHERE kind = ?1 AND name = ?2",
                    kind, change.name, change.state, updated));
  return SavedBoard{.saved = true, .updated = updated};
}

Result<std::vector<Board>> boards(Reading& reading, BoardKind kind) {
  return sql::read_all(
      reading->query("SELECT name, state, updated FROM boards WHERE kind = ?1 ORDER BY name",
                     number_of(kind)),
      [](const Statement& row) {
        return Board{.name = row.text(0), .state = row.text(1), .updated = row.utc(2)};
      });
}

Result<bool> delete_board(Writing& writing, BoardKind kind, std::string_view name) {
  return TRY(writing->number("DELETE FROM boards WHERE kind = ?1 AND name = ?2 RETURNING 1",
                             number_of(kind), name))
      .has_value();
}

// ---- views
namespace {

// There are 2^40 ids: that so many are taken by other states never happens by chance.
constexpr int kAttempts = 16;
constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";

// True if the view with this id has this state; nothing: the id is free.
Result<std::optional<bool>> has_state(Writing& writing, std::string_view id,
                                      const std::string& state) {
  return sql::read_first(
      writing->query("SELECT CASE WHEN state = ?2 THEN 1 ELSE 0 END FROM views WHERE id = ?1", id,
                     state),
      [](const Statement& row) { return row.integer(0) != 0; });
}

}  // namespace

std::string view_id(const std::string& state, int attempt) {
  const Sha256 hash = sha256(attempt == 0 ? state : fmt::format("{}\n{}", attempt, state));
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof bits; ++i) bits = bits << 8U | hash.at(i);
  std::string id;
  for (std::size_t i = 0; i < kViewIdLength; ++i, bits >>= 5U) id += kDigits.at(bits % 32);
  return id;
}

Result<std::string> save_view(Writing& writing, const std::string& state, UtcTime now) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string id = view_id(state, attempt);
    auto same = TRY(has_state(writing, id, state));
    if (!same) {
      TRY(writing->exec(
          "INSERT INTO views (id, created, state) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
          id, now, state));
      // Another server may have been first, with this state or with another one.
      same = TRY(has_state(writing, id, state));
      if (!same) return fail(Code::kConflict, "the view was written meanwhile");
    }
    if (*same) return id;
  }
  return fail(Code::kInternal, "no id is free for this view");
}

Result<std::optional<View>> view(Reading& reading, std::string_view id) {
  return sql::read_first(reading->query("SELECT id, state, created FROM views WHERE id = ?1", id),
                         [](const Statement& row) {
                           return View{
                               .id = row.text(0), .state = row.text(1), .created = row.utc(2)};
                         });
}

// ---- notes
namespace {

std::optional<std::int64_t> mark_number(const NoteText& content) {
  if (!content.mark) return std::nullopt;
  return static_cast<std::int64_t>(*content.mark);
}

}  // namespace

Result<Note> add_note(Writing& writing, const WrittenNote& note) {
  const NoteText& content = note.content;
  // Held until the note is written: a removal takes it along, or there is no run any more.
  const auto key = TRY(writing->number(
      "SELECT key FROM runs WHERE id = ?1" + std::string(writing->dialect().lock_row), note.run));
  if (!key) return fail(Code::kNotFound, fmt::format("no run {}", note.run.hex()));
  if (content.mark) {
    TRY(writing->exec("DELETE FROM notes WHERE run = ?1 AND finding = ?2 AND mark IS NOT NULL",
                      *key, content.finding));
  }
  const auto count = TRY(writing->number("SELECT count(*) FROM notes WHERE run = ?1", *key));
  if (count.value_or(0) >= kMostNotes) {
    return fail(Code::kTooLarge,
                fmt::format("the run has {} notes: delete one that nobody needs", kMostNotes));
  }
  const auto id = TRY(writing->number(
      "INSERT INTO notes (run, time, created, text, finding, mark, ended, author) VALUES (?1, ?2, "
      "?3, ?4, ?5, ?6, ?7, ?8) RETURNING id",
      *key, content.time, note.now, content.text, content.finding, mark_number(content),
      content.end, note.author));
  if (!id) return fail(Code::kInternal, "the note got no id");
  return Note{.id = *id, .content = content, .created = note.now, .author = note.author};
}

Result<std::vector<Note>> notes(Reading& reading, RunId run) {
  return sql::read_all(
      reading->query(
          "SELECT id, time, text, created, finding, mark, ended, author FROM notes WHERE "
          "run = (SELECT key FROM runs WHERE id = ?1) ORDER BY id",
          run),
      [](const Statement& row) {
        Note note{.id = row.integer(0),
                  .content = {.time = row.maybe_utc(1),
                              .end = row.maybe_utc(6),
                              .text = row.text(2),
                              .finding = row.text(4)},
                  .created = row.utc(3),
                  .author = row.text(7)};
        if (const auto mark = row.maybe_integer(5)) note.content.mark = static_cast<Mark>(*mark);
        return note;
      });
}

Result<std::optional<Note>> change_note(Writing& writing, std::int64_t id,
                                        const WrittenNote& note) {
  const NoteText& content = note.content;
  const auto created = TRY(writing->number(
      "UPDATE notes SET time = ?3, text = ?4, finding = ?5, mark = ?6, ended = ?7, author = ?8 "
      "WHERE id = ?2 AND run = (SELECT key FROM runs WHERE id = ?1) RETURNING created",
      note.run, id, content.time, content.text, content.finding, mark_number(content), content.end,
      note.author));
  if (!created) return std::nullopt;
  return Note{.id = id, .content = content, .created = utc_time(*created), .author = note.author};
}

Result<bool> delete_note(Writing& writing, RunId run, std::int64_t id) {
  return TRY(writing->number("DELETE FROM notes WHERE id = ?2 AND run = (SELECT key FROM runs "
                             "WHERE id = ?1) RETURNING 1",
                             run, id))
      .has_value();
}

}  // namespace corral::store::page
