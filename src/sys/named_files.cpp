#include "sys/named_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace corral::sys {

NamedFiles::NamedFiles(const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) {
    std::error_code error;
    struct stat info {};
    fs::path whole = fs::absolute(path, error);
    if (!error && ::stat(whole.c_str(), &info) == 0)
      files_.push_back({.path = std::move(whole), .device = info.st_dev, .inode = info.st_ino});
  }
}

Result<> NamedFiles::check() const {
  const File* lost = lost_;
  for (std::size_t i = 0; lost == nullptr && i < files_.size(); ++i) {
    const File& file = files_[i];
    struct stat info {};
    const bool there = ::stat(file.path.c_str(), &info) == 0;
    if (!there && errno != ENOENT && errno != ENOTDIR) return fail_errno(file.path.string(), errno);
    if (!there || info.st_dev != file.device || info.st_ino != file.inode) lost = &file;
  }
  if (lost == nullptr) return {};
  lost_ = lost;
  return fail(Code::kNotFound, lost->path.string());
}

}  // namespace corral::sys
