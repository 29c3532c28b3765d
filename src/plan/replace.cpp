#include "plan/replace.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/failpoint.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::plan {
namespace {

namespace fs = std::filesystem;

constexpr int kTries = 8;

struct Content {
  struct stat info {};
  std::string text;
};

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

Result<Content> read_content(const fs::path& path) {
  Content content;
  const sys::Fd fd = TRY(sys::open_file(path, O_RDONLY));
  if (::fstat(fd.get(), &content.info) != 0) return fail_errno(path.string(), errno);
  if (!S_ISREG(content.info.st_mode))
    return fail(Code::kInvalidArgument, path.string() + ": not a regular file");
  content.text = TRY(sys::read_file(path));
  return content;
}

// One name for all: the leftover of a killed process is replaced, not extended. The lock keeps two
// from writing into it at once.
Result<sys::Fd> open_temporary(const fs::path& path) {
  for (;;) {
    sys::Fd fd = TRY(sys::open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
      return fail(Code::kConflict, path.string() + ": another process is writing this plan");
    struct stat mine {};
    struct stat there {};
    // Renamed away by its last owner between the opening and the lock.
    if (::fstat(fd.get(), &mine) == 0 && ::lstat(path.c_str(), &there) == 0 &&
        mine.st_ino == there.st_ino)
      return fd;
  }
}

Result<> write_temporary(const fs::path& temporary, std::string_view text,
                         const struct stat& like) {
  const sys::Fd fd = TRY(open_temporary(temporary));
  if (::ftruncate(fd.get(), 0) != 0) return fail_errno(temporary.string(), errno);
  TRY(sys::write_all(fd.get(), text));
  // Without the permission to give it away the file is ours from now on.
  if (::fchown(fd.get(), like.st_uid, like.st_gid) != 0) {
    [[maybe_unused]] const int group_only = ::fchown(fd.get(), static_cast<uid_t>(-1), like.st_gid);
  }
  if (::fchmod(fd.get(), like.st_mode & 07777) != 0 || ::fsync(fd.get()) != 0)
    return fail_errno(temporary.string(), errno);
  failpoint::reach("plan.before_rename");
  return {};
}

void sync_directory(const fs::path& directory) {
  const auto fd = sys::open_file(directory, O_RDONLY | O_DIRECTORY);
  // If a filesystem cannot sync a directory, the rename is as durable as it makes it.
  if (fd) [[maybe_unused]]
    const int synced = ::fsync(fd->get());
}

// False: the file is another than `old` by now.
Result<bool> replace(const fs::path& path, const Content& old, const std::string& text) {
  const fs::path temporary = path.parent_path() / ("." + path.filename().string() + ".corral-tmp");
  const auto written = write_temporary(temporary, text, old.info);
  if (!written) {
    if (written.error().code != Code::kConflict) ::unlink(temporary.c_str());
    return tl::unexpected(written.error());
  }
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0 || !same_file(now, old.info)) {
    ::unlink(temporary.c_str());
    return false;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return fail_errno(path.string(), error);
  }
  sync_directory(path.parent_path());
  return true;
}

}  // namespace

Result<> change_file(const fs::path& path,
                     const std::function<Result<std::string>(std::string_view text)>& change) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return fail_errno(path.string(), error.value());
  for (int i = 0; i < kTries; ++i) {
    const Content old = TRY(read_content(real));
    const std::string text = TRY(change(old.text));
    if (text == old.text || TRY(replace(real, old, text))) return {};
  }
  return fail(Code::kConflict, path.string() + ": changed while it was being written");
}

}  // namespace corral::plan
