#include "cli/output_target.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>

#include "core/ids.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

constexpr std::size_t kWriteBytes = 256u << 10;

}  // namespace

Result<OutputTarget> OutputTarget::open(const std::string& path) {
  OutputTarget target;
  if (path.empty()) return target;
  target.path_ = path;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    target.file_ = TRY(sys::open_file(path, O_WRONLY));
    return target;
  }
  // A link's target is replaced, not the link.
  if (std::filesystem::is_symlink(path, error))
    target.path_ = std::filesystem::canonical(path, error);
  target.temporary_ = target.path_;
  target.temporary_ += "." + SessionId::random().hex().substr(0, 8) + ".part";
  target.file_ = TRY(sys::open_file(target.temporary_, O_WRONLY | O_CREAT | O_EXCL));
  return target;
}

OutputTarget::OutputTarget(OutputTarget&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      waiting_(std::move(other.waiting_)) {}

OutputTarget::~OutputTarget() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

std::string OutputTarget::name() const {
  return path_.empty() ? "standard output" : path_.string();
}

Result<> OutputTarget::flush() {
  const int fd = path_.empty() ? STDOUT_FILENO : file_.get();
  auto written = sys::write_all(fd, std::span(waiting_.data(), waiting_.size()));
  waiting_.clear();
  if (!written) return fail(written.error().code, name() + ": " + written.error().message);
  return {};
}

Result<> OutputTarget::write(std::string_view bytes) {
  waiting_ += bytes;
  return waiting_.size() < kWriteBytes ? Result<>() : flush();
}

Result<> OutputTarget::finish() {
  TRY(flush());
  if (temporary_.empty()) return {};
  if (::fsync(file_.get()) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0)
    return fail_errno(name(), errno);
  temporary_.clear();
  return {};
}

}  // namespace corral::cli
