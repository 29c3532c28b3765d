#include "collect/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sys/file.h"

namespace corral::collect {
namespace {

// Room for what may be plugged in or started later.
constexpr std::size_t kHeadroom = 4096;
// The kernel fills a page with whole records: one that has room for another of this size was not
// filled because there are no more.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kLongRecord = 1024;
// Records may be longer still (a disk with all its partitions is one): a length that differs by
// more than this from the known one is not taken for the whole.
constexpr std::size_t kDrift = 64;

std::ptrdiff_t read_at(int fd, std::span<char> buffer, std::size_t offset) {
  for (;;) {
    const ssize_t n =
        ::pread(fd, buffer.data() + offset, buffer.size() - offset, static_cast<off_t>(offset));
    if (n >= 0 || errno != EINTR) return n;
  }
}

}  // namespace

std::ptrdiff_t read_from_start(int fd, std::span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const std::ptrdiff_t n = read_at(fd, buffer, filled);
    if (n < 0) return -1;
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  return static_cast<std::ptrdiff_t>(filled);
}

std::ptrdiff_t read_record(int fd, std::span<char> buffer) { return read_at(fd, buffer, 0); }

Result<ProcFile> ProcFile::open(const std::filesystem::path& path) {
  ProcFile file;
  file.fd_ = TRY(sys::open_file(path, O_RDONLY));
  file.buffer_.resize(kHeadroom);
  for (;;) {
    const std::ptrdiff_t n = read_from_start(file.fd_.get(), file.buffer_);
    if (n < 0) return fail_errno("cannot read " + path.string(), errno);
    const auto size = static_cast<std::size_t>(n);
    if (size < file.buffer_.size()) {
      file.end_ = size;
      file.buffer_.resize(size + size / 2 + kHeadroom);
      return file;
    }
    file.buffer_.resize(file.buffer_.size() * 2);
  }
}

std::optional<ProcFile> open_if_there(const std::filesystem::path& path) {
  auto file = ProcFile::open(path);
  if (!file) return std::nullopt;
  return *std::move(file);
}

std::optional<ProcFile> open_or_report(const std::filesystem::path& path, std::string_view metrics,
                                       SeriesTable& table) {
  auto file = ProcFile::open(path);
  if (file) return *std::move(file);
  table.unavailable(metrics, file.error().message);
  return std::nullopt;
}

bool ProcFile::is_whole(std::size_t size) const {
  return size + kLongRecord <= kPage && size + kDrift >= end_ && size <= end_ + kDrift;
}

std::string_view ProcFile::read_beginning(std::size_t bytes) {
  const std::span<char> beginning(buffer_.data(), std::min(bytes, buffer_.size()));
  const std::ptrdiff_t n = read_record(fd_.get(), beginning);
  if (n <= 0) return {};
  const std::string_view text(buffer_.data(), static_cast<std::size_t>(n));
  return text.substr(0, text.rfind('\n') + 1);
}

std::string_view ProcFile::read() {
  std::size_t filled = 0;
  while (filled < buffer_.size() && (filled == 0 || !is_whole(filled))) {
    const std::ptrdiff_t n = read_at(fd_.get(), buffer_, filled);
    if (n < 0) return {};
    if (n == 0) {
      end_ = filled;
      break;
    }
    filled += static_cast<std::size_t>(n);
  }
  const std::string_view text(buffer_.data(), filled);
  if (text.size() < buffer_.size()) return text;
  return text.substr(0, text.rfind('\n') + 1);
}

}  // namespace corral::collect
