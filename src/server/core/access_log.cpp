#include "server/core/access_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "sys/clock.h"
#include "sys/file.h"
#include "sys/thread_guard.h"

namespace corral::server {
namespace {

// Lines that come within this time are written together.
constexpr Nanos kPause = std::chrono::milliseconds(100);

void append_word(std::string& line, std::string_view word) {
  if (word.empty()) line.push_back('-');
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '\\') {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line.push_back(c);
    }
  }
  line.push_back(' ');
}

}  // namespace

std::string access_line(const http::Exchange& exchange, UtcTime time) {
  std::string line = iso_utc(time) + " ";
  append_word(line, exchange.id);
  append_word(line, exchange.peer);
  append_word(line, method_name(exchange.method));
  append_word(line, exchange.path);
  line += fmt::format("{} {} {:.1f}{}\n", exchange.status, exchange.bytes,
                      seconds(exchange.took) * 1e3, exchange.whole ? "" : " unfinished");
  return line;
}

// A pipe or a terminal is as good as a file, but a file of another user's choice is not.
Result<sys::Fd> open_log(const std::filesystem::path& file) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT;
  const bool device = file.native().starts_with("/dev/");
  sys::Fd log = TRY(sys::open_file(file, device ? kFlags : kFlags | O_NOFOLLOW, 0600));
  struct stat facts {};
  if (::fstat(log.get(), &facts) != 0) return fail_errno(file.string(), errno);
  if (S_ISREG(facts.st_mode) && (facts.st_uid != ::geteuid() || facts.st_nlink > 1))
    return fail(Code::kPermission,
                file.string() + ": a log must be a file of this user's with one name");
  return log;
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::filesystem::path& file) {
  if (file == "-") {
    sys::Fd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!out.valid()) return fail(Code::kIo, "standard output is closed");
    return std::make_unique<AccessLog>(std::move(out));
  }
  return std::make_unique<AccessLog>(TRY(open_log(file)));
}

AccessLog::AccessLog(sys::Fd fd)
    : fd_(std::move(fd)),
      thread_(sys::require_thread("the access log", [this](const std::stop_token& stop) {
        sys::guard_loop("the access log", stop, [&] { run(stop); });
      })) {}

AccessLog::~AccessLog() {
  thread_.request_stop();
  thread_.join();
}

void AccessLog::note(const http::Exchange& exchange) {
  const std::string line = access_line(exchange, sys::utc_now());
  const Lock lock(mutex_);
  if (waiting_.size() + line.size() > kMostWaiting) {
    lost_ += 1;
    return;
  }
  if (waiting_.empty()) wake_.notify_one();
  waiting_ += line;
}

void AccessLog::run(const std::stop_token& stop) {
  for (;;) {
    Lock lock(mutex_);
    wake_.wait(lock, stop, [this]() REQUIRES(mutex_) { return !waiting_.empty(); });
    wake_.wait_for(lock, stop, kPause, [] { return false; });
    if (waiting_.empty() && stop.stop_requested()) return;
    const std::string lines = std::exchange(waiting_, {});
    const std::size_t lost = std::exchange(lost_, 0);
    lock.unlock();
    // A full disk costs lines and nothing else.
    static_cast<void>(sys::write_all(fd_.get(), lines));
    if (lost > 0)
      static_cast<void>(sys::write_all(fd_.get(), fmt::format("{} lines lost\n", lost)));
  }
}

}  // namespace corral::server
