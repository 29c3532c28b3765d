// The directory tree below a root, without ever following a symbolic link. Used by file_store.cpp.
// Stateless; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "store/artifacts/artifact_store.h"
#include "sys/fd.h"

namespace corral::store::artifacts {

// The directory of unfinished uploads; no artifact of the root may have this name.
inline constexpr std::string_view kUploads = ".corral-uploads";

// The directory `path` below `root`, as O_RDONLY descriptor; the empty path is the root itself.
// kNotFound for what is missing or no directory, kPermission for a link.
Result<sys::Fd> open_directory(int root, std::string_view path);
// The same; makes what is missing (0755 less umask), each durable in its parent. kInvalidArgument
// where a file is in the way; kNotFound only if somebody deletes directories meanwhile.
Result<sys::Fd> make_directories_below(int root, std::string_view path);
// A regular file. kNotFound for anything but a file or a link.
Result<sys::Fd> open_regular(int root, std::string_view path);

// Regular files and directories, sorted by name; kTooLarge beyond kMostEntries.
Result<std::vector<Entry>> read_entries(int directory);
// unlinkat() of the last name of `path`, which lies in `directory`.
using Unlink = std::function<int(int directory, const std::string& path)>;
// The entry `path` with all that is below it; `parent` is the directory that it lies in. An absent
// one is fine. Links are removed, not followed.
Result<> remove_tree(int parent, const std::string& path, const Unlink& unlink);

// "a/b/c" -> {"a/b", "c"}
struct SplitPath {
  std::string_view parent;
  std::string_view name;
};
SplitPath split_path(std::string_view path);

}  // namespace corral::store::artifacts
