#include "cli/terminal_screen.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace corral::cli {
namespace {

// The alternate screen, no cursor, no wrapping of lines.
constexpr std::string_view kPrepare = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kRestore = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
// Longest time in which a stopped terminal may take the last bytes.
constexpr int kLeaveMs = 1000;
// A greater window is not filled.
constexpr std::size_t kMostScreenRows = 200, kMostScreenColumns = 400;

}  // namespace

bool TerminalScreen::usable() {
  const char* const term = std::getenv("TERM");
  const std::string_view kind = term != nullptr ? term : "";
  return !kind.empty() && kind != "dumb" && ::isatty(STDIN_FILENO) != 0 &&
         ::isatty(STDOUT_FILENO) != 0;
}

TerminalScreen::TerminalScreen()
    : out_(::open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
  // Another user's terminal (su) cannot be opened again.
  if (!out_) out_.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  ::tcgetattr(STDIN_FILENO, &former_);
  enter();
}

TerminalScreen::~TerminalScreen() { leave(); }

void TerminalScreen::enter() {
  termios raw = former_;
  ::cfmakeraw(&raw);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  send(std::string(kPrepare));
}

void TerminalScreen::leave() {
  // CAN ends a sequence that was sent in part.
  waiting_ = waiting_.empty() ? "" : "\x18";
  send(std::string(kRestore));
  pollfd room{.fd = out_.get(), .events = POLLOUT, .revents = 0};
  while (!flush() && ::poll(&room, 1, kLeaveMs) == 1 && (room.revents & POLLOUT) != 0) {
  }
  ::tcsetattr(STDIN_FILENO, TCSANOW, &former_);
}

void TerminalScreen::suspend() {
  leave();
  // Stops the whole job, as the terminal would; without a shell that could continue it, nothing
  // stops.
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::kill(0, SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  enter();
}

std::pair<std::size_t, std::size_t> TerminalScreen::size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return {24, 80};
  return {std::min<std::size_t>(size.ws_row, kMostScreenRows),
          std::min<std::size_t>(size.ws_col, kMostScreenColumns)};
}

bool TerminalScreen::flush() {
  while (!waiting_.empty()) {
    const ssize_t n = ::write(out_.get(), waiting_.data(), waiting_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    // Nothing is kept for a terminal that is gone.
    waiting_.erase(0, n > 0 ? static_cast<std::size_t>(n) : waiting_.size());
  }
  return true;
}

void TerminalScreen::send(const std::string& bytes) {
  waiting_ += bytes;
  flush();
}

bool TerminalScreen::read(std::string& typed) {
  std::array<char, 256> bytes{};
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n > 0) typed.append(bytes.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace corral::cli
