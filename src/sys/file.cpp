#include "sys/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/ids.h"

namespace corral::sys {

Result<Fd> open_file(const fs::path& path, int flags, mode_t mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return fail_errno(path.string(), errno);
  return Fd(fd);
}

Result<std::string> read_file(const fs::path& path, std::size_t limit) {
  return read_all(TRY(open_file(path, O_RDONLY)), path, limit);
}

Result<std::string> read_all(const Fd& file, const fs::path& path, std::size_t limit) {
  std::string content;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(path.string(), errno);
    if (n == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(n));
    if (content.size() > limit)
      return fail(Code::kTooLarge,
                  path.string() + ": larger than " + std::to_string(limit) + " bytes");
  }
}

Result<> write_all(int fd, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<> replace_file(const fs::path& path, std::string_view content, mode_t mode, bool sync) {
  fs::path temporary = path;
  temporary += "." + SessionId::random().hex().substr(0, 8) + ".tmp";
  const auto write = [&]() -> Result<> {
    const Fd fd = TRY(open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, mode));
    TRY(write_all(fd.get(), content));
    if (sync && ::fsync(fd.get()) != 0) return fail_errno(temporary.string(), errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) return fail_errno(path.string(), errno);
    return {};
  };
  Result<> done = write();
  if (!done) ::unlink(temporary.c_str());
  return done;
}

Result<> make_directories(const fs::path& path, mode_t mode) {
  if (path.empty() || ::mkdir(path.c_str(), mode) == 0) return {};
  if (errno == ENOENT && path.has_parent_path() && path.parent_path() != path) {
    TRY(make_directories(path.parent_path(), mode));
    if (::mkdir(path.c_str(), mode) == 0) return {};
  }
  const int error = errno;
  struct stat info {};
  if (error == EEXIST && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
  return fail_errno(path.string(), error == EEXIST ? ENOTDIR : error);
}

std::vector<std::string> list_directory(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<Fd> try_lock_file(const fs::path& path) {
  return lock_at_once(TRY(open_file(path, O_RDWR | O_CREAT, 0600)), path);
}

Result<Fd> lock_at_once(Fd file, const fs::path& path) {
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK)
      return fail(Code::kUnavailable, path.string() + ": locked by another process");
    return fail_errno(path.string(), errno);
  }
  return file;
}

namespace {

struct KnownFilesystem {
  std::int64_t type;
  std::string_view name;
  bool network;
};

// statfs(2) magic numbers (linux/magic.h and the filesystems' own sources).
constexpr std::array kFilesystems = {
    KnownFilesystem{0xEF53, "ext4", false},      KnownFilesystem{0x58465342, "xfs", false},
    KnownFilesystem{0x9123683E, "btrfs", false}, KnownFilesystem{0x2FC12FC1, "zfs", false},
    KnownFilesystem{0x01021994, "tmpfs", false}, KnownFilesystem{0x794C7630, "overlayfs", false},
    KnownFilesystem{0xF2F52010, "f2fs", false},  KnownFilesystem{0xCA451A4E, "bcachefs", false},
    KnownFilesystem{0x6969, "nfs", true},        KnownFilesystem{0xFF534D42, "cifs", true},
    KnownFilesystem{0xFE534D42, "smb2", true},   KnownFilesystem{0x517B, "smb", true},
    KnownFilesystem{0x65735546, "fuse", true},   KnownFilesystem{0x0BD00BD0, "lustre", true},
    KnownFilesystem{0x47504653, "gpfs", true},   KnownFilesystem{0x00C36400, "ceph", true},
    KnownFilesystem{0x19830326, "beegfs", true}, KnownFilesystem{0x5346414F, "afs", true},
    KnownFilesystem{0x01021997, "9p", true},     KnownFilesystem{0x20030528, "pvfs2", true},
    KnownFilesystem{0x7461636F, "ocfs2", true},  KnownFilesystem{0x01161970, "gfs2", true},
    KnownFilesystem{0xAAD7AAEA, "panfs", true},  KnownFilesystem{0x6A656A63, "virtiofs", true},
};

}  // namespace

FilesystemKind filesystem_kind(std::int64_t statfs_type) {
  const std::int64_t type = statfs_type & 0xFFFFFFFF;  // f_type is signed on some kernels
  const auto found = std::ranges::find(kFilesystems, type, &KnownFilesystem::type);
  if (found == kFilesystems.end()) return {.name = "unknown", .network = false};
  return {.name = std::string(found->name), .network = found->network};
}

Result<FilesystemKind> filesystem_of(const fs::path& path) {
  std::error_code error;
  fs::path existing = fs::absolute(path, error);
  while (!fs::exists(existing, error) && existing.has_parent_path() &&
         existing != existing.parent_path()) {
    existing = existing.parent_path();
  }
  struct statfs info {};
  if (::statfs(existing.c_str(), &info) != 0) return fail_errno(existing.string(), errno);
  return filesystem_kind(static_cast<std::int64_t>(info.f_type));
}

}  // namespace corral::sys
