#include "run/set_up/code_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <vector>

#include "sys/file.h"

namespace corral::run::set_up {
namespace {

constexpr std::size_t kPiece = 64u << 10;

std::int64_t nanoseconds(const struct statx_timestamp& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

Result<FileState> look_at(int place) {
  struct statx info {};
  constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME;
  if (::statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kWanted, &info) != 0)
    return fail_errno("look at a file", errno);
  FileState state;
  if (S_ISREG(info.stx_mode)) state.kind = FileState::Kind::kFile;
  if (S_ISLNK(info.stx_mode)) state.kind = FileState::Kind::kLink;
  state.bytes = static_cast<std::int64_t>(info.stx_size);
  state.executable = (info.stx_mode & S_IXUSR) != 0;
  state.changed_ns = std::max(nanoseconds(info.stx_mtime), nanoseconds(info.stx_ctime));
  if ((info.stx_mask & STATX_BTIME) != 0) state.made_ns = nanoseconds(info.stx_btime);
  state.device = (static_cast<std::uint64_t>(info.stx_dev_major) << 32) | info.stx_dev_minor;
  state.inode = info.stx_ino;
  return state;
}

}  // namespace

Result<CodeFile> CodeFile::open(const std::filesystem::path& path) {
  sys::Fd place = TRY(sys::open_file("/", O_PATH | O_DIRECTORY));
  const std::filesystem::path below = path.relative_path();
  for (auto part = below.begin(); part != below.end(); ++part) {
    const bool last = std::next(part) == below.end();
    const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | (last ? 0 : O_DIRECTORY);
    sys::Fd next(::openat(place.get(), part->c_str(), flags));
    if (!next) return fail_errno(path.string(), errno);
    place = std::move(next);
  }
  const FileState state = TRY(look_at(place.get()));
  return CodeFile(std::move(place), path, state);
}

Result<std::string> CodeFile::target() const {
  std::array<char, PATH_MAX> text{};
  const ssize_t n = ::readlinkat(place_.get(), "", text.data(), text.size());
  if (n < 0) return fail_errno(path_.string(), errno);
  return std::string(text.data(), static_cast<std::size_t>(n));
}

Result<> CodeFile::read(std::int64_t most,
                        const std::function<bool(std::string_view)>& take) const {
  if (state_.kind != FileState::Kind::kFile) return fail(Code::kUnsupported, "not a regular file");
  // Opens the file that O_PATH found, even if another file has its name by now.
  const sys::Fd file = TRY(sys::open_file(fmt::format("/proc/self/fd/{}", place_.get()),
                                          O_RDONLY | O_NONBLOCK | O_NOCTTY));
  std::vector<char> piece(kPiece);
  for (std::int64_t bytes = 0;;) {
    const ssize_t n = ::read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(path_.string(), errno);
    if (n == 0) return {};
    bytes += n;
    if (bytes > most) return fail(Code::kTooLarge, "grew while it was read");
    if (!take(std::string_view(piece.data(), static_cast<std::size_t>(n)))) return {};
  }
}

}  // namespace corral::run::set_up
