#include "store/artifacts/file/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/text.h"

namespace corral::store::artifacts {

SplitPath split_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {.parent = {}, .name = path};
  return {.parent = path.substr(0, slash), .name = path.substr(slash + 1)};
}

namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// Deeper than any path that check_path takes (segments of one byte).
constexpr int kMostDepth = static_cast<int>(kPathBytes / 2) + 1;

// open(O_NOFOLLOW | O_DIRECTORY) of a link fails with ENOTDIR, of a link as a file with ELOOP. The
// type of the entry decides between "not there" and "not allowed".
tl::unexpected<Error> why_not(int parent, const std::string& name, int error) {
  struct stat info {};
  const bool seen = ::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (error == ELOOP || (seen && S_ISLNK(info.st_mode)))
    return fail(Code::kPermission, fmt::format("'{}' is a symbolic link", name));
  return fail_errno(name, error);
}

Result<sys::Fd> step_into(int parent, const std::string& name) {
  const int fd = ::openat(parent, name.c_str(), kDirectory);
  if (fd < 0) return why_not(parent, name, errno);
  return sys::Fd(fd);
}

Result<sys::Fd> make_and_step_into(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0755) == 0) {
    if (::fsync(parent) != 0) return fail_errno(name, errno);
  } else if (errno != EEXIST) {
    return fail_errno(name, errno);
  }
  Result<sys::Fd> inside = step_into(parent, name);
  struct stat info {};
  if (!inside && inside.error().code == Code::kNotFound &&
      ::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(info.st_mode))
    return fail(Code::kInvalidArgument, fmt::format("'{}' is not a directory", name));
  return inside;
}

template <class Step>
Result<sys::Fd> walk(int root, std::string_view path, const Step& step) {
  sys::Fd here = TRY(step_into(root, "."));
  if (path.empty()) return here;
  for (const std::string_view segment : split(path, '/'))
    here = TRY(step(here.get(), std::string(segment)));
  return here;
}

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// A stream of its own over the descriptor's directory, from the beginning.
Result<Directory> read_from_start(int directory) {
  sys::Fd fd = TRY(step_into(directory, "."));
  Directory stream(::fdopendir(fd.get()));
  if (!stream) return fail_errno("directory", errno);
  [[maybe_unused]] const int owned_by_stream = fd.release();
  return stream;
}

// Calls `visit` with every name but "." and "..", until it fails.
Result<> for_each_name(int directory, const std::function<Result<>(const std::string&)>& visit) {
  const Directory stream = TRY(read_from_start(directory));
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());  // NOLINT(concurrency-mt-unsafe): own stream
    if (entry == nullptr) break;
    const std::string name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != "..") TRY(visit(name));
  }
  if (errno != 0) return fail_errno("directory", errno);
  return {};
}

Result<> remove_below(int directory, const std::string& path, int depth, const Unlink& unlink) {
  const std::string name(split_path(path).name);
  if (unlink(directory, path) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return fail_errno(name, errno);
  if (depth == 0) return fail(Code::kTooLarge, fmt::format("'{}' lies too deep", name));
  {
    const sys::Fd inside = TRY(step_into(directory, name));
    TRY(for_each_name(inside.get(), [&](const std::string& child) {
      return remove_below(inside.get(), path + "/" + child, depth - 1, unlink);
    }));
  }
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return fail_errno(name, errno);
  return {};
}

}  // namespace

Result<sys::Fd> open_directory(int root, std::string_view path) {
  return walk(root, path, step_into);
}

Result<sys::Fd> make_directories_below(int root, std::string_view path) {
  return walk(root, path, make_and_step_into);
}

Result<sys::Fd> open_regular(int root, std::string_view path) {
  const SplitPath parts = split_path(path);
  const sys::Fd parent = TRY(open_directory(root, parts.parent));
  const std::string name(parts.name);
  // O_NONBLOCK: a FIFO must not hold a thread; it means nothing to a regular file.
  sys::Fd file(
      ::openat(parent.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return why_not(parent.get(), name, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail_errno(name, errno);
  if (!S_ISREG(info.st_mode)) return fail(Code::kNotFound, fmt::format("'{}' is not a file", name));
  return file;
}

Result<std::vector<Entry>> read_entries(int directory) {
  std::vector<Entry> entries;
  TRY(for_each_name(directory, [&](const std::string& name) -> Result<> {
    struct stat info {};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};  // removed meanwhile
      return fail_errno(name, errno);
    }
    const bool is_dir = S_ISDIR(info.st_mode);
    if (!is_dir && !S_ISREG(info.st_mode)) return {};
    if (entries.size() == kMostEntries)
      return fail(Code::kTooLarge,
                  fmt::format("a directory of more than {} entries", kMostEntries));
    entries.push_back({.name = name,
                       .is_dir = is_dir,
                       .size = is_dir ? 0 : static_cast<std::uint64_t>(info.st_size)});
    return {};
  }));
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

Result<> remove_tree(int parent, const std::string& path, const Unlink& unlink) {
  return remove_below(parent, path, kMostDepth, unlink);
}

}  // namespace corral::store::artifacts
