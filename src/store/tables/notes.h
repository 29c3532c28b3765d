// Notes that people wrote about a run, at a time of it or of the run as a whole: rows of `notes`.
//
// Free functions over the caller's snapshot or transaction. Notes are removed with their run
// (remove/remove.h). An unknown run has no notes, and adding a note to it fails with kNotFound.
// Texts are checked by the callers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/transaction.h"

namespace corral::store::page {

inline constexpr std::int64_t kMostNotes = 1000;  // per run

struct NoteText {
  std::optional<UtcTime> time;  // nothing: of the whole run
  std::string text;
};
struct Note {
  std::int64_t id = 0;
  NoteText content;
  UtcTime created;
};

// kTooLarge: the run has kMostNotes.
Result<Note> add_note(Writing& writing, RunId run, const NoteText& content, UtcTime now);
// In the order in which they were written.
Result<std::vector<Note>> notes(Reading& reading, RunId run);
// Nothing: the run has no such note.
Result<std::optional<Note>> change_note(Writing& writing, RunId run, std::int64_t id,
                                        const NoteText& content);
Result<bool> delete_note(Writing& writing, RunId run, std::int64_t id);

}  // namespace corral::store::page
