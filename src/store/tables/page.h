// The page's own rows: boards and lists of runs that people saved under a name, views (states of
// the page under a short id), and notes about runs.
//
// Free functions over the caller's snapshot or transaction. Names, states and texts are checked by
// the callers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/transaction.h"

namespace corral::store::page {

// ---- boards, lists of runs and reports
// They differ in their kind only, and each kind has names of its own. A board's `updated` grows
// with every change, even if the clock goes back, so that a client that knows it can detect a later
// save by another one.
inline constexpr std::int64_t kMostBoards = 256;             // per kind
inline constexpr std::int64_t kMostBoardBytes = 16ll << 20;  // all states of a kind

enum class BoardKind : std::uint8_t { kBoard = 0, kRunList = 1, kReport = 2 };

// The word for a person: "board", "list", "report".
std::string_view kind_name(BoardKind kind);

struct Board {
  std::string name, state;
  UtcTime updated;
};

struct BoardChange {
  BoardKind kind = BoardKind::kBoard;
  std::string name, state;
  // The version that the caller believes to be stored; 0: none. Nothing: any.
  std::optional<UtcTime> expected;
};
struct SavedBoard {
  bool saved = false;              // false: it is not what was expected
  std::optional<UtcTime> updated;  // current version; nothing: no such board
};
// kTooLarge: there are kMostBoards, or kMostBoardBytes of them.
Result<SavedBoard> save_board(Writing& writing, const BoardChange& change, UtcTime now);
// By name.
Result<std::vector<Board>> boards(Reading& reading, BoardKind kind);
Result<bool> delete_board(Writing& writing, BoardKind kind, std::string_view name);

// ---- views
// A view is never changed or deleted. Its id follows from its state alone, so that shared links
// stay valid and saving the same state again costs nothing.
inline constexpr std::size_t kViewIdLength = 8;  // characters of base32: a-z and 2-7

struct View {
  std::string id, state;
  UtcTime created;
};

// The id that the state has, or now gets. Two states whose hashes begin alike get different ids.
Result<std::string> save_view(Writing& writing, const std::string& state, UtcTime now);
Result<std::optional<View>> view(Reading& reading, std::string_view id);

// The attempt-th id of a state, from 0: the first that is free or already the state's is its id.
std::string view_id(const std::string& state, int attempt);

// ---- notes
// Notes are about a time or a span of a run, a finding, or the run as a whole, and are removed with
// it (remove/remove.h). An unknown run has no notes, and adding a note to it fails with kNotFound.
inline constexpr std::int64_t kMostNotes = 1000;  // per run

enum class Mark : std::uint8_t { kDismissed = 0, kKept = 1 };

struct NoteText {
  std::optional<UtcTime> time;      // nothing: of the whole run
  std::optional<UtcTime> end = {};  // later than `time`; nothing: a moment
  std::string text;                 // may be empty beside a mark
  std::string finding = {};         // the id of the finding that it is about (docs/analysis.md)
  std::optional<Mark> mark = {};
};
struct Note {
  std::int64_t id = 0;
  NoteText content;
  UtcTime created;
  std::string author = {};  // the user who wrote this text; empty: not known
};

struct WrittenNote {
  RunId run;
  NoteText content;
  UtcTime now;
  std::string author = {};
};
// A marked note replaces those of the same finding. kTooLarge: the run has kMostNotes.
Result<Note> add_note(Writing& writing, const WrittenNote& note);
// In the order in which they were written.
Result<std::vector<Note>> notes(Reading& reading, RunId run);
// Nothing: the run has no such note.
Result<std::optional<Note>> change_note(Writing& writing, std::int64_t id, const WrittenNote& note);
Result<bool> delete_note(Writing& writing, RunId run, std::int64_t id);

}  // namespace corral::store::page
