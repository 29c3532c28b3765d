// Undo: restores the changes that journals name, in reverse: by the owner itself at the end
// (put_back), or by a later process after an owner was killed (undo_all).
//
// One table has the undo function of each kind of change. A handler is idempotent and checks first
// that the change is still ours: an entry may stand for a change that was never made, was made in
// part, or has been undone already. Only `end_runs` ends runs that still run.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collocate/journal.h"
#include "core/result.h"
#include "sys/process.h"

namespace corral::collocate {

struct UndoOptions {
  fs::path state;           // directory of the journals: <state>/undo
  fs::path root = "/";      // /proc, /sys; for tests
  std::string nvml;         // replaces the system's library; for tests
  std::string mps_control;  // program in place of nvidia-cuda-mps-control; for tests
  bool dry_run = false;     // only reports the changes that would be undone
  bool end_runs = false;    // processes that are still in a group of ours, or use a device of ours,
                            // are ended; else the whole journal waits for them
  // Returns the live commands of an owner's runs: they count as users of all entries of its
  // journal. Empty: undo_all() leaves the journals of plans alone, as their runs are unknown.
  std::function<std::vector<sys::ProcessIdentity>(const JournalOwner&)> commands_of{};
  // Returns the scheduler that runs the owner's plan now: with `end_runs` its runs are left to that
  // scheduler, which may have started others since. An empty text or function: none does.
  std::function<std::string(const JournalOwner&)> scheduler_of{};
};

struct KindHandler {
  std::string_view kind;
  // Undoes the change, or with options.dry_run only checks it. True: something was (would be)
  // changed; false: no change of ours was left. kPermission names the missing permission; after any
  // other error the entry stays for the next time.
  Result<bool> (*put_back)(const Standing& entry, const UndoOptions& options);
  // Returns the user of the change, "run 3 (pid 4711)"; empty if there is none, or it is not known.
  // May be null.
  std::string (*in_use)(const Standing& entry, const UndoOptions& options) = nullptr;
};

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
  std::string reason;  // for kInUse and kFailed
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
const KindHandler* handler_of(std::string_view kind);

// Returns one advice for all failures of kPermission.
std::string permission_advice(const fs::path& state);

// Returns $XDG_STATE_HOME/corral, else ~/.local/state/corral; /var/tmp/corral-UID without either,
// or if other users have access to it.
fs::path default_state();

}  // namespace corral::collocate
