// Plan files on disk: reading them, and marking their rows with a status.
//
// Reading never changes a file. Marking changes the cells Status and Run (of a sweep: the map
// `status`) and nothing else, byte for byte, and replaces the file at once: a reader sees
// the old or the new one whole.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "plan/known.h"
#include "plan/plan.h"

namespace corral::plan {

// Fails only if there is no text to read (missing, too large, a directory); faults in the text are
// problems of the plan.
Result<Plan> read_plan(const fs::path& file, const Known& known);
// The same of a text; `directory` is where relative names start.
Plan parse_csv_plan(std::string_view text, const fs::path& directory, const Known& known);
Plan parse_sweep(std::string_view text, const fs::path& directory, const Known& known);

// The new status of a row. For a sweep, `run` and the row's params form the entry.
struct Mark {
  std::string key;     // Row::key
  std::string status;  // "FINISHED (7 0_A) name (0_A)"; line breaks become spaces
  std::string run;
};
struct Marked {
  std::vector<std::string> lost;  // keys that no row has any more: edited or removed meanwhile
  bool added_columns = false;     // there was no Status or no Run
};
// Reads the file again, so rows may have been edited, moved, added: they are found by their keys.
// Keeps mode, owner and a symbolic link; writes nothing when nothing differs. kConflict when the
// file changes faster than it can be written.
Result<Marked> mark_rows(const fs::path& file, const std::vector<Mark>& marks);

// The same of a text: kInvalidArgument when it cannot be read as a plan.
Result<std::string> mark_csv(std::string_view text, const std::vector<Mark>& marks, Marked& marked);
Result<std::string> mark_sweep(std::string_view text, const std::vector<Mark>& marks,
                               Marked& marked);

// Reads the file, lets `change` make the new content of it, and puts that in its place at once:
// temporary beside it, fsync, rename, fsync of the folder. A symbolic link stays one; mode and,
// where permitted, owner and group are kept. When the file changed between the reading and the end,
// it is read and changed again. Writes nothing when the content stays. kConflict: somebody else
// keeps changing it.
Result<> change_file(const fs::path& path,
                     const std::function<Result<std::string>(std::string_view text)>& change);

// Returns the id of the plan on this host: 32 hex digits, a hash of host and absolute path.
std::string plan_id(std::string_view host, const fs::path& file);

// State in a Status cell, as radT reads it: a word anywhere in it.
enum class RowState { kNew, kRunning, kFinished, kFailed };
RowState parse_row_state(std::string_view status);

}  // namespace corral::plan
