#include "collect/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "sys/file.h"

namespace corral::collect {
namespace {

// Room for what may be plugged in or started later.
constexpr std::size_t kHeadroom = 4096;

}  // namespace

std::ptrdiff_t read_from_start(int fd, std::span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t n =
        ::pread(fd, buffer.data() + filled, buffer.size() - filled, static_cast<off_t>(filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  return static_cast<std::ptrdiff_t>(filled);
}

Result<ProcFile> ProcFile::open(const std::filesystem::path& path) {
  ProcFile file;
  file.fd_ = TRY(sys::open_file(path, O_RDONLY));
  file.buffer_.resize(kHeadroom);
  for (;;) {
    const std::ptrdiff_t n = read_from_start(file.fd_.get(), file.buffer_);
    if (n < 0) return fail_errno("cannot read " + path.string(), errno);
    const auto size = static_cast<std::size_t>(n);
    if (size < file.buffer_.size()) {
      file.buffer_.resize(size + size / 2 + kHeadroom);
      return file;
    }
    file.buffer_.resize(file.buffer_.size() * 2);
  }
}

std::string_view ProcFile::read() {
  const std::ptrdiff_t n = read_from_start(fd_.get(), buffer_);
  if (n <= 0) return {};
  const std::string_view text(buffer_.data(), static_cast<std::size_t>(n));
  if (text.size() < buffer_.size()) return text;
  return text.substr(0, text.rfind('\n') + 1);
}

}  // namespace corral::collect
