// Finds runs and changes them through a server's API: for rm, rename, tag, archive and restore.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/destination.h"
#include "core/json.h"
#include "core/result.h"

namespace corral::cli {

struct FoundRun {
  std::string id;
  std::string what;  // for people: "run calm-otter-07 (3f2a…), finished"
};
// Each once. kNotFound, kInvalidArgument.
Result<std::vector<FoundRun>> find_runs(const sys::HttpTarget& server,
                                        const std::vector<std::string>& runs);
// In the trash, else in the archive: by id, the beginning of one, or name (the newest).
Result<FoundRun> find_hidden_run(const sys::HttpTarget& server, const std::string& text);

struct RunList {
  std::string state;            // active, archived or trashed
  std::string experiment = {};  // its name; empty: all
};
// All of them, the newest first.
Result<std::vector<FoundRun>> list_runs(const sys::HttpTarget& server, const RunList& list);

struct ChangeOrder {
  std::optional<std::string> name = {};
  std::vector<std::pair<std::string, std::string>> tags = {};  // an empty value removes the tag
  std::string state = {};                                      // empty: as it is
  bool force = false;
};
struct ChangedRun {
  std::string id, name;
  bool changed = false;  // it was not so already
};
// All or none of each thousand. kConflict: a running run would go to the trash.
Result<std::vector<ChangedRun>> change_runs(const sys::HttpTarget& server,
                                            const std::vector<FoundRun>& runs,
                                            const ChangeOrder& order);

}  // namespace corral::cli
