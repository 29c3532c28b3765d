// Files: whole reads and writes, directories, what filesystem a path is on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sys/fd.h"

namespace corral::sys {

namespace fs = std::filesystem;

// open(2) with O_CLOEXEC added; the error names the path.
Result<Fd> open_file(const fs::path& path, int flags, mode_t mode = 0644);
// The whole file, at most `limit` bytes (kTooLarge beyond). Works for /proc, whose sizes read 0.
Result<std::string> read_file(const fs::path& path, std::size_t limit = 64u << 20);
// The same of an open file, from where it stands; errors name `path`.
Result<std::string> read_all(const Fd& file, const fs::path& path, std::size_t limit);
// Writes all of it, retrying short writes and EINTR.
Result<> write_all(int fd, std::span<const char> bytes);
// Replaces the file at once: a temporary beside it, fsync, rename. Readers see the old or the new
// one whole. Without `sync` that holds for killed processes, not for a power cut, and costs no wait
// for the disk.
Result<> replace_file(const fs::path& path, std::string_view content, mode_t mode = 0644,
                      bool sync = true);
// Makes the directory and its parents with `mode`.
Result<> make_directories(const fs::path& path, mode_t mode = 0755);
std::vector<std::string> list_directory(
    const fs::path& path);  // names, sorted; empty when unreadable

// flock(LOCK_EX | LOCK_NB) on a file that is made when missing. Held until the Fd closes.
// kUnavailable when another holds it.
Result<Fd> try_lock_file(const fs::path& path);
// The same lock on an open file; errors name `path`.
Result<Fd> lock_at_once(Fd file, const fs::path& path);

struct FilesystemKind {
  std::string name;      // "ext4", "nfs", "fuse", ...
  bool network = false;  // other hosts may see or serve it: mmap, flock and WAL are not safe there
};
// Returns the kind of the nearest existing ancestor of `path`. FUSE filesystems count as network
// unless known to be local.
Result<FilesystemKind> filesystem_of(const fs::path& path);
// The table alone, for tests: the kind of a statfs(2) f_type.
FilesystemKind filesystem_kind(std::int64_t statfs_type);

}  // namespace corral::sys
