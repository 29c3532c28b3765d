// The kept code of a run: reads its `corral/code.json`, and restores its files and its commit in a
// new directory. The list comes from a server and is not trusted: paths that could lead out of the
// new directory are rejected here. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "environment/environment.h"
#include "sys/fd.h"

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

// Files of a run put into a new directory, whatever lies there already.
//
// Every access walks from the root, one name at a time, and never through a symbolic link: a
// repository that was checked out before may hold some. Paths are those that
// check_restored_path() takes.
class CodeTree {
 public:
  static Result<CodeTree> open(const std::filesystem::path& root);

  // Hands the file's bytes to the function that it is given, which takes no more when it is false.
  using Send = std::function<Result<>(const std::function<bool(std::string_view)>& take)>;
  // Writes the file in place of another one. kCorruption unless the bytes are those of its SHA-256.
  Result<> write(const KeptFile& file, const Send& send);
  // Makes a symbolic link in place of a file.
  Result<> link(const KeptFile& file);
  // With those that it lies in; "" is the root.
  Result<> make_directory(std::string_view path);
  // An absent file is fine; directories stay.
  Result<> remove(std::string_view path);

 private:
  explicit CodeTree(sys::Fd root) : root_(std::move(root)) {}
  [[nodiscard]] Result<sys::Fd> parent_of(std::string_view path, bool make) const;
  sys::Fd root_;
};

// A commit of a repository, checked out into a new directory. Git runs without hooks, templates,
// submodules and questions, and reads only repositories that check_repository() accepts. Blocks.
struct GitCheckout {
  std::string commit{};                // hex digits
  std::vector<std::string> sources{};  // addresses or paths, the first that has the commit is taken
  std::filesystem::path directory{};   // empty; becomes the working tree
  std::string origin{};                // address to be noted in the new repository; empty: none
};

// The source that had the commit; kNotFound when none had, with the reason of each.
Result<std::string> check_out(const GitCheckout& request,
                              const environment::PrepareOptions& options);

}  // namespace corral::cli
