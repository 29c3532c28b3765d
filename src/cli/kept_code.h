// Kept code: reads and checks a run's `corral/code.json`, and the paths that may be written. The
// list comes from a server and is not trusted: paths that could lead out of the new directory are
// rejected here. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace corral::cli {

struct KeptFile {
  std::string path{};    // below the root
  std::string sha256{};  // 64 hex digits; of a file
  std::int64_t bytes = 0;
  bool executable = false;
  std::string link{};  // target of a symbolic link; empty: a file
  bool changed_meanwhile = false;
  std::int64_t at = -1;  // its offset in `corral/together`; < 0: `corral/code/` has it
};

struct LeftOut {
  std::string path{};  // absolute where it was outside of the root
  std::string reason{};
  bool needed = false;  // the run executed it
};

struct KeptCode {
  std::string root{};       // absolute, on the machine of the run
  std::string directory{};  // the command's: below the root, or absolute outside of it
  std::string commit{};     // empty: outside of git
  std::string remote{};     // empty: none
  std::vector<std::string> deleted{};
  bool whole = false;
  std::vector<KeptFile> files{};
  std::vector<std::string> outside{};  // absolute paths of kept files that are not restored
  std::vector<LeftOut> left_out{};
};

// kUnprocessable for a path that leads out of the root, into .git or nowhere, a hash or commit
// that is none; kUnsupported for a newer format.
Result<KeptCode> read_kept_code(const Json& list);

// kUnprocessable unless the path is relative and of plain names: none of "", ".", ".." and .git
// in any spelling, no control characters.
Result<> check_restored_path(std::string_view path);
// True when a symbolic link at `path` with this target cannot lead out of the root, provided that
// the directories of `path` are no links and all other links are such, too.
bool stays_inside(std::string_view path, std::string_view target);
// kUnprocessable unless git may be asked to fetch from there: an absolute path, https://,
// http://, ssh://, git:// or host:path. Nothing that is an option or that runs a program.
Result<> check_repository(std::string_view address);

}  // namespace corral::cli
