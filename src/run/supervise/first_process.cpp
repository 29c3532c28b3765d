#include "run/supervise/first_process.h"

#include <fmt/core.h>
#include <poll.h>

#include "sys/file.h"
#include "sys/process.h"

namespace corral::run {

FirstProcess::FirstProcess(pid_t pid, bool waits)
    : pid_(pid),
      process_(sys::open_process(pid).value_or(sys::Fd())),
      waiting_(waits ? words() : std::string()) {}

std::string FirstProcess::words() const {
  return sys::read_file(fmt::format("/proc/{}/cmdline", pid_)).value_or("");
}

bool FirstProcess::executes() const {
  if (waiting_.empty()) return true;
  const std::string now = words();
  return !now.empty() && now != waiting_;
}

bool FirstProcess::ended() const {
  pollfd process{.fd = process_.get(), .events = POLLIN, .revents = 0};
  return process_ && ::poll(&process, 1, 0) == 1;
}

}  // namespace corral::run
