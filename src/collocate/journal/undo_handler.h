// Undo handlers: what the layers that make changes tell undo.h, which knows them all.
//
// A handler is idempotent and checks first that the change is still ours: an entry may stand for a
// change that was never made, was made in part, or has been undone already.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "collocate/journal/journal.h"
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

}  // namespace corral::collocate
