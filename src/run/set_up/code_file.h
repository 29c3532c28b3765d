// CodeFile: one file of a run's code. It is opened without following a link, without waiting for a
// pipe or touching a device; only regular files are read, up to a size.
//
// The path may belong to another user (a repository, a shared folder) and may change while it is
// read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "sys/fd.h"

namespace corral::run::set_up {

// The file's attributes at one moment.
struct FileState {
  enum class Kind { kFile, kLink, kOther };
  Kind kind = Kind::kOther;
  std::int64_t bytes = 0;
  bool executable = false;
  std::int64_t changed_ns = 0;  // the later of mtime and ctime, since 1970
  std::int64_t made_ns = 0;     // 0: unknown to the filesystem
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileState&) const = default;
};

class CodeFile {
 public:
  // `path` is absolute; no part of it may be a link but the last, which is not followed.
  static Result<CodeFile> open(const std::filesystem::path& path);
  [[nodiscard]] const FileState& state() const { return state_; }
  // Returns the target of a link.
  [[nodiscard]] Result<std::string> target() const;
  // Passes the file to `take` piece by piece, until that returns false. kTooLarge beyond `most`
  // bytes.
  Result<> read(std::int64_t most, const std::function<bool(std::string_view)>& take) const;

 private:
  CodeFile(sys::Fd place, std::filesystem::path path, FileState state)
      : place_(std::move(place)), path_(std::move(path)), state_(state) {}

  sys::Fd place_;  // O_PATH: nothing was opened yet
  std::filesystem::path path_;
  FileState state_;
};

}  // namespace corral::run::set_up
