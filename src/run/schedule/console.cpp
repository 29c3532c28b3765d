#include "run/schedule/console.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/text.h"

namespace corral::run::schedule {
namespace {

bool is_live_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

// True if standard error takes text: a blocked terminal or reader must not hold the scheduler up.
bool takes_text() {
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

}  // namespace

Console::Console(bool quiet) : quiet_(quiet), live_(!quiet && is_live_terminal()) {}

Console::~Console() { draw({}); }

std::size_t Console::width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20
             ? static_cast<std::size_t>(size.ws_col - 1)
             : 79;
}

void Console::erase() {
  if (!drawn_.empty()) fmt::print(stderr, "\x1b[{}A\x1b[J", drawn_.size());
}

void Console::paint() {
  for (const std::string& line : drawn_) fmt::print(stderr, "{}\n", printable(line));
  std::fflush(stderr);
}

void Console::put(const std::string& line) {
  const Lock lock(mutex_);
  if (!takes_text()) return;
  erase();
  fmt::print(stderr, "corral: {}\n", printable(line));
  paint();
}

void Console::say(const std::string& line) {
  if (!quiet_) put(line);
}

void Console::warn(const std::string& line) { put(line); }

void Console::draw(std::vector<std::string> lines) {
  if (!live_) return;
  const Lock lock(mutex_);
  if (lines == drawn_ || !takes_text()) return;
  erase();
  drawn_ = std::move(lines);
  paint();
}

}  // namespace corral::run::schedule
