// Undo: restores the changes that journals name, in reverse: by the owner itself at the end
// (put_back), or by a later process after an owner was killed (undo_all).
//
// One table has the undo function of each kind of change. A handler is idempotent and checks first
// that the change is still ours: an entry may stand for a change that was never made, was made in
// part, or has been undone already. Only `end_runs` ends runs that still run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collocate/journal/journal.h"
#include "collocate/journal/undo_handler.h"
#include "core/result.h"

namespace corral::collocate {

enum class UndoState {
  kPutBack,      // undone, or with dry_run would be
  kNothingLeft,  // no longer there
  kVoid,         // the machine was rebooted since
  kInUse,        // in use by a run that still runs
  kFailed,
};

struct UndoLine {
  std::string words;  // the words of the entry
  UndoState state = UndoState::kPutBack;
  std::string reason{};  // for kInUse and kFailed
};

struct UndoReport {
  std::vector<UndoLine> lines;
  std::vector<std::string> notes;  // owners that still live, files that are damaged
  int permissions = 0;             // failures because of a missing permission
  bool looked = true;              // false: the journals' directory is not trusted
  [[nodiscard]] bool complete() const;
};

// Undoes the changes that the journals of dead owners name. Journals of living owners are left
// alone. Concurrent callers share the work file by file.
UndoReport undo_all(const UndoOptions& options);

// Undoes the owner's entries from `first` on, in reverse. The error names all changes that could
// not be undone, which stay in the journal.
Result<> put_back(Journal& journal, std::uint64_t first, const UndoOptions& options);

// Returns the handler of a kind, of this host's or of nvidia/.
const KindHandler* find_handler(std::string_view kind);

// Returns one advice for all failures of kPermission.
std::string permission_advice(const fs::path& state);

// Returns $XDG_STATE_HOME/corral, else ~/.local/state/corral; /var/tmp/corral-UID without either,
// or if other users have access to it.
fs::path default_state();

}  // namespace corral::collocate
