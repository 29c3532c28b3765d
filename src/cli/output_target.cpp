#include "cli/output_target.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <span>
#include <utility>

#include "core/ids.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

constexpr std::size_t kWriteBytes = 256u << 10;

// The file that a signal takes away; a command writes one. Empty: none.
std::array<char, PATH_MAX> unfinished{};

void remove_and_end(int signal) {
  if (unfinished[0] != '\0') ::unlink(unfinished.data());
  ::raise(signal);  // SA_RESETHAND: ends the process once this returns
}

void remove_on_signal(const std::filesystem::path& file) {
  if (file.native().size() >= unfinished.size()) return;
  std::memcpy(unfinished.data(), file.c_str(), file.native().size() + 1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    // One that is ignored (nohup) stays so.
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
}

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
  remove_on_signal(target.temporary_);
  auto file = sys::open_file(target.temporary_, O_WRONLY | O_CREAT | O_EXCL);
  if (!file) {  // in the words of the name that was asked for
    const std::size_t named = target.temporary_.native().size();
    return fail(file.error().code, target.name() + file.error().message.substr(named));
  }
  target.file_ = *std::move(file);
  return target;
}

OutputTarget::OutputTarget(OutputTarget&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      waiting_(std::move(other.waiting_)) {}

OutputTarget::~OutputTarget() {
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  unfinished[0] = '\0';
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
  unfinished[0] = '\0';
  return {};
}

}  // namespace corral::cli
