#include "run/terminal/terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "run/notices.h"
#include "sys/process.h"

namespace corral::run {
namespace {

// Most keys that wait for the command, in bytes. Further keys are lost, as with a terminal's own
// input queue of 4 KiB.
constexpr std::size_t kMostKeys = 64u << 10;

bool is_one_terminal() {
  std::array<struct stat, 3> info{};
  for (int fd = 0; fd < 3; ++fd) {
    if (::isatty(fd) == 0 || ::fstat(fd, &info[static_cast<std::size_t>(fd)]) != 0) return false;
  }
  return info[0].st_rdev == info[1].st_rdev && info[0].st_rdev == info[2].st_rdev;
}

termios raw_of(termios modes) {
  ::cfmakeraw(&modes);
  return modes;
}

}  // namespace

std::unique_ptr<Terminal> Terminal::open() {
  termios modes{};
  winsize size{};
  if (!is_one_terminal() || ::tcgetattr(STDIN_FILENO, &modes) != 0) return nullptr;
  // Gives up if another command has made the terminal raw already, or if an old kernel has no
  // descriptors of processes.
  if ((modes.c_lflag & ISIG) == 0 || !sys::open_process(::getpid())) return nullptr;
  ::ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
  int master = -1;
  int slave = -1;
  if (::openpty(&master, &slave, nullptr, &modes, &size) != 0) return nullptr;
  sys::Fd master_end(master);
  sys::Fd slave_end(slave);
  for (const int fd : {master, slave}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(master, F_SETFL, O_NONBLOCK);
  // A supervisor in the background must not be stopped for writing to the terminal or changing its
  // modes.
  for (const int s : {SIGTTIN, SIGTTOU}) ::signal(s, SIG_IGN);
  return std::unique_ptr<Terminal>(
      new Terminal(std::move(master_end), std::move(slave_end), modes));
}

Terminal::Terminal(sys::Fd master, sys::Fd slave, const termios& former)
    : master_(std::move(master)), slave_(std::move(slave)), former_(former), raw_(raw_of(former)) {}

Terminal::~Terminal() {
  leave();
  // The holder ends when no process has the slave side open; this process must not count.
  slave_.reset();
  holder_.let_go();
}

Result<> Terminal::hold(pid_t child, sys::Fd file) {
  child_ = child;
  file_ = std::move(file);
  command_ = TRY(sys::open_process(child));
  // The lock lasts until this process and the holder are gone: the adopting supervisor sees by it
  // when all is written.
  [[maybe_unused]] const int locked = ::flock(file_.get(), LOCK_EX | LOCK_NB);
  slave_.reset();
  holder_ = TRY(Holder::start({.master = master_.get(),
                               .file = file_.get(),
                               .command = command_.get(),
                               .terminal = STDIN_FILENO,
                               .raw = raw_,
                               .former = former_}));
  return {};
}

bool Terminal::in_foreground() const {
  const pid_t group = ::tcgetpgrp(STDIN_FILENO);
  // A terminal that is not this session's own has no foreground group for this process.
  return group < 0 ? errno == ENOTTY : group == ::getpgrp();
}

void Terminal::enter() {
  if (entered_ || left_ || closed_ || !in_foreground()) return;
  // If another job has changed the modes meanwhile, those are restored later; but not a raw mode,
  // which a command beside this one has set for itself.
  termios now{};
  if (::tcgetattr(STDIN_FILENO, &now) == 0 && (now.c_lflag & ISIG) != 0) former_ = now;
  if (::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw_) != 0) return;
  entered_ = true;
  Notices::set_raw(true);
}

void Terminal::leave() {
  left_ = true;
  restore();
}

void Terminal::restore() {
  if (!entered_) return;
  entered_ = false;
  Notices::set_raw(false);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &former_);
}

std::array<pollfd, 2> Terminal::waits() const {
  return {pollfd{.fd = entered_ && !closed_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
          pollfd{.fd = keys_.empty() ? -1 : master_.get(), .events = POLLOUT, .revents = 0}};
}

std::vector<int> Terminal::read_keys(const std::array<pollfd, 2>& ready) {
  std::vector<int> signals;
  if (ready[0].revents != 0) {
    std::array<char, 4096> typed;
    const ssize_t n = ::read(STDIN_FILENO, typed.data(), typed.size());
    if (n > 0) signals = split_keys({typed.data(), static_cast<std::size_t>(n)});
    // EIO: another job has the terminal now.
    if (n == 0 || (n < 0 && errno != EIO && errno != EAGAIN && errno != EINTR)) closed_ = true;
    if (n < 0 && errno == EIO) entered_ = false;
  }
  write_keys();
  return signals;
}

std::vector<int> Terminal::split_keys(std::string_view typed) {
  std::vector<int> signals;
  termios inner{};
  // Once the command is over its terminal has no foreground group: the keys are for this process.
  pollfd command{.fd = command_.get(), .events = POLLIN, .revents = 0};
  const bool over = ::poll(&command, 1, 0) == 1;
  const bool ours = ::tcgetattr(master_.get(), &inner) == 0 &&
                    (over || ((inner.c_lflag & ISIG) != 0 && ::tcgetpgrp(master_.get()) == child_));
  for (const char c : typed) {
    const auto is = [&](std::size_t key) {
      const cc_t set = inner.c_cc[key];
      return ours && set != _POSIX_VDISABLE && static_cast<cc_t>(c) == set;
    };
    const int signal = is(VINTR) ? SIGINT : is(VQUIT) ? SIGQUIT : is(VSUSP) ? SIGTSTP : 0;
    if (signal != 0) {
      signals.push_back(signal);
    } else if (keys_.size() < kMostKeys) {
      keys_ += c;
    }
  }
  return signals;
}

void Terminal::write_keys() {
  while (!keys_.empty()) {
    const ssize_t n = ::write(master_.get(), keys_.data(), keys_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    keys_.erase(0, n > 0 ? static_cast<std::size_t>(n) : keys_.size());
  }
}

void Terminal::resize() const {
  winsize size{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) ::ioctl(master_.get(), TIOCSWINSZ, &size);
}

void Terminal::suspend(bool command_lives) {
  // The command's group is orphaned: the kernel would ignore SIGTSTP there.
  if (command_lives) ::kill(-child_, SIGSTOP);
  restore();
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  // Stops the whole job, as the terminal would; without a shell that could continue it, nothing
  // stops.
  ::kill(0, SIGTSTP);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  if (command_lives) ::kill(-child_, SIGCONT);
  enter();
  resize();
}

void Terminal::tend() {
  if (child_ == 0 || holder_.lives()) return;
  auto next = Holder::start({.master = master_.get(),
                             .file = file_.get(),
                             .command = command_.get(),
                             .terminal = STDIN_FILENO,
                             .raw = raw_,
                             .former = former_});
  if (next) holder_ = std::move(*next);
}

void Terminal::drain() {
  if (child_ != 0 && !holder_.drain()) empty_master(master_.get(), file_.get());
}

}  // namespace corral::run
