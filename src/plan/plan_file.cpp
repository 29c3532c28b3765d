#include "plan/plan_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/failpoint.h"
#include "core/sha256.h"
#include "core/text.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::plan {
namespace {

constexpr std::size_t kMostBytes = 32u << 20;

// ".yaml", ".yml": a sweep. Everything else is CSV.
bool is_sweep(const fs::path& file) {
  const std::string extension = lower_ascii(file.extension().string());
  return extension == ".yaml" || extension == ".yml";
}

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

Result<Plan> read_plan(const fs::path& file, const Known& known) {
  std::error_code error;
  if (fs::is_directory(file, error))
    return fail(Code::kInvalidArgument, file.string() + ": a directory, not a plan");
  const std::string text = TRY(sys::read_file(file, kMostBytes));
  const fs::path directory = fs::absolute(file, error).parent_path();
  return is_sweep(file) ? parse_sweep(text, directory, known)
                        : parse_csv_plan(text, directory, known);
}

Result<Marked> mark_rows(const fs::path& file, const std::vector<Mark>& marks) {
  Marked marked;
  TRY(change_file(file, [&](std::string_view text) -> Result<std::string> {
    marked = {};
    return is_sweep(file) ? mark_sweep(text, marks, marked) : mark_csv(text, marks, marked);
  }));
  return marked;
}

std::string plan_id(std::string_view host, const fs::path& file) {
  constexpr std::size_t kBytes = 16;
  std::error_code error;
  fs::path real = fs::weakly_canonical(file, error);
  if (error) real = fs::absolute(file, error);
  return hex(sha256(fmt::format("{}{}{}", host, '\0', real.string())), kBytes);
}

RowState parse_row_state(std::string_view status) {
  const auto says = [&](std::string_view word) {
    return status.find(word) != std::string_view::npos;
  };
  if (says("FINISHED")) return RowState::kFinished;
  if (says("FAILED")) return RowState::kFailed;
  return says("RUNNING") || says("INTERRUPTED") ? RowState::kRunning : RowState::kNew;
}

}  // namespace corral::plan
