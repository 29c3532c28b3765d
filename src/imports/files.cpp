#include "imports/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace corral::imports {

Result<std::size_t> read_piece(const sys::Fd& file, const sys::fs::path& path, std::string& buffer,
                               const std::function<Result<>(std::string_view)>& take) {
  buffer.resize(kPieceBytes);
  ssize_t count = 0;
  do {
    count = ::read(file.get(), buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail_errno(path.string(), errno);
  const auto size = static_cast<std::size_t>(count);
  if (size > 0) TRY(take(std::string_view(buffer).substr(0, size)));
  return size;
}

Result<sys::Fd> open_regular(const sys::fs::path& path) {
  std::error_code error;
  const auto status = sys::fs::status(path, error);
  if (!sys::fs::exists(status)) return fail(Code::kNotFound, path.string() + ": no such file");
  if (!sys::fs::is_regular_file(status))
    return fail(Code::kInvalidArgument, path.string() + ": not a regular file");
  return sys::open_file(path, O_RDONLY | O_NONBLOCK);
}

Result<std::vector<sys::fs::path>> find_below(const sys::fs::path& directory,
                                              const std::function<bool(std::string_view)>& wanted) {
  constexpr std::size_t kMostEntries = 1'000'000;
  constexpr int kDeepest = 32;
  std::vector<sys::fs::path> found;
  std::error_code error;
  sys::fs::recursive_directory_iterator entry(
      directory, sys::fs::directory_options::skip_permission_denied, error);
  std::size_t entries = 0;
  for (; !error && entry != sys::fs::recursive_directory_iterator(); entry.increment(error)) {
    if (++entries > kMostEntries)
      return fail(Code::kTooLarge,
                  fmt::format("{} has over {} entries; name a directory of fewer runs",
                              directory.string(), kMostEntries));
    if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
    std::error_code ignored;
    if (wanted(entry->path().filename().string()) && entry->is_regular_file(ignored))
      found.push_back(entry->path());
  }
  if (error) return fail_errno(directory.string(), error.value());
  std::ranges::sort(found);
  return found;
}

std::int64_t total_size(const std::vector<sys::fs::path>& files) {
  std::int64_t total = 0;
  for (const sys::fs::path& file : files) {
    std::error_code error;
    const auto size = sys::fs::file_size(file, error);
    if (!error) total += static_cast<std::int64_t>(size);
  }
  return total;
}

}  // namespace corral::imports
