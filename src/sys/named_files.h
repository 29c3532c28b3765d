// NamedFiles: checks that the files a process works on still have their names.
//
// A file that is deleted, moved or replaced stays usable through its descriptors, but bytes written
// to it are lost to all others. The caller keeps each file open, so that no other file gets its
// inode. One stat(2) a file; any thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <vector>

#include "core/result.h"
#include "sys/file.h"

namespace corral::sys {

class NamedFiles {
 public:
  // The files that have these names now. Names without a file are ignored.
  explicit NamedFiles(const std::vector<fs::path>& paths);

  // kNotFound names the first file that has lost its name, and does so from then on, even if the
  // file comes back; another error: its name cannot be looked at now.
  [[nodiscard]] Result<> check() const;

 private:
  struct File {
    fs::path path;
    dev_t device;
    ino_t inode;
  };
  std::vector<File> files_;
  mutable std::atomic<const File*> lost_{nullptr};
};

}  // namespace corral::sys
