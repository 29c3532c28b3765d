// Undo: restores the changes that journals name, in reverse: by the owner itself at the end
// (put_back), or by a later process after an owner was killed (undo_all).
//
// One table says how each kind of change is put back. A handler is idempotent and looks first
// whether the thing is still ours: an entry may stand for a change that was never made, was made in
// part, or has been put back already. Nothing here ends a run that still runs, but for `end_runs`.
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
  std::string nvml;         // library in place of the system's; for tests
  std::string mps_control;  // program in place of nvidia-cuda-mps-control; for tests
  bool dry_run = false;     // says what would be put back
  bool end_runs = false;    // processes that are still in a group of ours, or use a device of ours,
                            // are ended; else the whole journal waits for them
  // The commands of an owner's runs that still run: they count as users of all that its journal
  // names. Empty: undo_all leaves the journals of plans alone, as their runs cannot be asked after.
  std::function<std::vector<sys::ProcessIdentity>(const JournalOwner&)> commands_of{};
  // Returns the scheduler that runs the owner's plan now: with `end_runs` its runs are left to that
  // scheduler, which may have started others since. An empty text or function: none does.
  std::function<std::string(const JournalOwner&)> scheduler_of{};
};

struct KindHandler {
  std::string_view kind;
  // Puts it back, or with options.dry_run only looks. True: something was (would be) changed;
  // false: there was nothing (left) of ours. kPermission: names the missing permission; any other
  // error: the entry stays for the next time.
  Result<bool> (*put_back)(const Standing& entry, const UndoOptions& options);
  // Returns the user of the change, "run 3 (pid 4711)"; empty if there is none, or it is not known.
  // May be null.
  std::string (*in_use)(const Standing& entry, const UndoOptions& options) = nullptr;
};

enum class UndoState {
  kPutBack,      // is, or with dry_run would be
  kNothingLeft,  // no longer there
  kVoid,         // the machine was rebooted since
  kInUse,        // waits for a run that still runs
  kFailed,
};

struct UndoLine {
  std::string words;  // the entry's
  UndoState state = UndoState::kPutBack;
  std::string reason;  // for kInUse and kFailed
};

struct UndoReport {
  std::vector<UndoLine> lines;
  std::vector<std::string> notes;  // owners that still live, files that are damaged
  int permissions = 0;             // failures for want of permission
  bool looked = true;              // false: the journals' directory is not trusted
  [[nodiscard]] bool complete() const;
};

// Undoes the changes that the journals of dead owners name. Those of living owners are left alone.
// Several callers at once share the work file by file.
UndoReport undo_all(const UndoOptions& options);

// The owner's own: entries from `first` on, in reverse. The error names all that could not be put
// back and stays in the journal.
Result<> put_back(Journal& journal, std::uint64_t first, const UndoOptions& options);

// The handlers of this host's kinds and of nvidia/.
const KindHandler* handler_of(std::string_view kind);

// Once, for all failures of kPermission.
std::string permission_advice(const fs::path& state);

// $XDG_STATE_HOME/corral, else ~/.local/state/corral; /var/tmp/corral-UID without either, or where
// that is not this user's alone.
fs::path default_state();

}  // namespace corral::collocate
