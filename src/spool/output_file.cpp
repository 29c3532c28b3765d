#include "spool/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/limits.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::spool {
namespace {

constexpr std::int64_t kReserveBytes = 4ll << 20;
constexpr std::int64_t kPunchBytes = 1ll << 20;  // punched in pieces of this size
constexpr std::int64_t kTailBytes = 64ll << 10;  // stays: it may say why the command failed

}  // namespace

Result<OutputFile> OutputFile::open(const RunDirectory& directory, codec::LogStream stream) {
  const sys::PrivateDirectory& files = directory.files();
  const std::string name = output_name(stream);
  const bool is_new = !files.exists(name);
  sys::Fd file = TRY(files.open_file(name, O_RDWR | O_CREAT));
  sys::Fd mark = TRY(files.open_file(name + ".stored", O_RDWR | O_CREAT));
  OutputFile output(files, stream, std::move(file), std::move(mark));
  if (::pread(output.mark_.get(), &output.stored_, sizeof output.stored_, 0) !=
      sizeof output.stored_)
    output.stored_ = 0;
  errno = 0;
  output.tidy(0);
  // The first thing that the command prints would fail.
  const bool full = output.reserved_ == 0 && (errno == ENOSPC || errno == EDQUOT);
  if (is_new && full) return fail_errno("space for the command's output", errno);
  return output;
}

Result<sys::Fd> OutputFile::writer() const {
  return directory_.open_file(output_name(stream_), O_WRONLY | O_APPEND);
}

std::int64_t OutputFile::size() const {
  struct stat info {};
  return ::fstat(file_.get(), &info) == 0 ? std::int64_t{info.st_size} : 0;
}

std::size_t OutputFile::read(std::int64_t offset, std::span<char> buffer) const {
  const ssize_t n = ::pread(file_.get(), buffer.data(), buffer.size(), offset);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

bool OutputFile::store(Journal& journal, int max_chunks) {
  std::vector<char> buffer;
  for (int i = 0; i < max_chunks; ++i) {
    const std::int64_t end = size();
    if (end < stored_) stored_ = end;  // the command truncated its own output
    if (end == stored_) return false;
    buffer.resize(
        static_cast<std::size_t>(std::min<std::int64_t>(end - stored_, limits::kLogChunkBytes)));
    std::size_t n = read(stored_, buffer);
    if (n == 0) return false;
    // A chunk that is cut for its size ends between two characters, not inside one.
    if (n == limits::kLogChunkBytes) n -= incomplete_utf8_tail({buffer.data(), n});
    journal.log({.time = sys::boot_now(),
                 .stream = stream_,
                 .offset = stored_,
                 .bytes = std::string(buffer.data(), n)});
    stored_ += static_cast<std::int64_t>(n);
    [[maybe_unused]] const ssize_t written = ::pwrite(mark_.get(), &stored_, sizeof stored_, 0);
  }
  return size() > stored_;
}

void OutputFile::tidy(std::int64_t keep_from) {
  const std::int64_t end = size();
  if (end + kReserveBytes / 2 > reserved_) {
    // Beyond the end of the file: its size stays as it is. A filesystem that cannot do this does
    // without.
    if (::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, end, kReserveBytes) == 0)
      reserved_ = end + kReserveBytes;
  }
  const std::int64_t until =
      std::min({keep_from, stored_, end - kTailBytes}) / kPunchBytes * kPunchBytes;
  if (until > punched_ && ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                      punched_, until - punched_) == 0) {
    punched_ = until;
  }
}

}  // namespace corral::spool
