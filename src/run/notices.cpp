#include "run/notices.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "core/text.h"

namespace corral::run {
namespace {

std::atomic<bool>& raw_terminal() {
  static std::atomic<bool> raw{false};
  return raw;
}

}  // namespace

void Notices::set_raw(bool raw) { raw_terminal() = raw; }

void Notices::put(std::string_view line) {
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  const std::string text = "corral: " + printable(line) + (raw_terminal() ? "\r\n" : "\n");
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
}

void Notices::say(std::string_view line) {
  if (!quiet_) put(line);
}

void Notices::warn(const std::string& line) {
  const bool fresh = warned_.with([&](std::vector<std::string>& warned) {
    const bool known = std::ranges::find(warned, line) != warned.end();
    if (!known) warned.push_back(line);
    return !known;
  });
  if (fresh) put(line);
}

}  // namespace corral::run
