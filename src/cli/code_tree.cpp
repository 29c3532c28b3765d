#include "cli/code_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/sha256.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string name_of(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

tl::unexpected<Error> refused(std::string_view path, int error) {
  if (error == ELOOP || error == ENOTDIR)
    return fail(Code::kPermission,
                fmt::format("'{}' lies behind a link or a file: nothing is restored there",
                            printable(path)));
  return fail_errno(printable(path), error);
}

Result<> make_room(int parent, std::string_view path) {
  if (::unlinkat(parent, name_of(path).c_str(), 0) == 0 || errno == ENOENT) return {};
  return fail_errno(printable(path), errno);
}

}  // namespace

Result<CodeTree> CodeTree::open(const std::filesystem::path& root) {
  return CodeTree(TRY(sys::open_file(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)));
}

Result<sys::Fd> CodeTree::parent_of(std::string_view path, bool make) const {
  TRY(check_restored_path(path));
  sys::Fd here(::openat(root_.get(), ".", kDirectory));
  if (!here) return fail_errno(".", errno);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return here;
  for (const std::string_view part : split(path.substr(0, slash), '/')) {
    const std::string name(part);
    if (make && ::mkdirat(here.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      return refused(path, errno);
    sys::Fd next(::openat(here.get(), name.c_str(), kDirectory));
    if (!next) return refused(path, errno);
    here = std::move(next);
  }
  return here;
}

Result<> CodeTree::write(const KeptFile& file, const Send& send) {
  const sys::Fd parent = TRY(parent_of(file.path, true));
  TRY(make_room(parent.get(), file.path));
  const sys::Fd out(::openat(parent.get(), name_of(file.path).c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             file.executable ? 0755 : 0644));
  if (!out) return fail_errno(printable(file.path), errno);
  Sha256Stream hash;
  std::int64_t left = file.bytes;
  Result<> written;
  Result<> sent = send([&](std::string_view piece) {
    left -= static_cast<std::int64_t>(piece.size());
    if (left < 0) return false;
    hash.add(piece);
    written = sys::write_all(out.get(), piece);
    return written.has_value();
  });
  if (!written) return tl::unexpected(written.error().with_context(printable(file.path)));
  if (!sent && left >= 0) return sent;
  if (left != 0 || hex(hash.finish()) != file.sha256)
    return fail(Code::kCorruption,
                fmt::format("'{}' is not what was kept: its SHA-256 differs from the one in the "
                            "list of the run's code",
                            printable(file.path)));
  return {};
}

Result<> CodeTree::link(const KeptFile& file) {
  const sys::Fd parent = TRY(parent_of(file.path, true));
  TRY(make_room(parent.get(), file.path));
  if (::symlinkat(file.link.c_str(), parent.get(), name_of(file.path).c_str()) != 0)
    return fail_errno(printable(file.path), errno);
  return {};
}

Result<> CodeTree::make_directory(std::string_view path) {
  if (path.empty()) return {};
  TRY(parent_of(fmt::format("{}/x", path), true));
  return {};
}

Result<> CodeTree::remove(std::string_view path) {
  const auto parent = parent_of(path, false);
  if (!parent) return {};  // nor is anything below it
  const bool gone = ::unlinkat(parent->get(), name_of(path).c_str(), 0) == 0 || errno == ENOENT ||
                    errno == EISDIR;
  if (!gone) return fail_errno(printable(path), errno);
  // Directories go with their last file, as git has it: a file may take their place.
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = path.rfind('/')) {
    path = path.substr(0, slash);
    const auto above = parent_of(path, false);
    if (!above || ::unlinkat(above->get(), name_of(path).c_str(), AT_REMOVEDIR) != 0) break;
  }
  return {};
}

}  // namespace corral::cli
