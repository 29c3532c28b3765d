#include "run/terminal/holder.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/time.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::run {
namespace {

constexpr int kNapMs = 5;     // a chatty command costs at most 200 wakes a second
constexpr int kIdleMs = 200;  // interval of looks while no process has the terminal open
constexpr int kDrainMs = 2000;
constexpr char kDrainWord = 'd';

// True if the file was deleted with the run's directory: later output is discarded.
bool is_deleted(int file) {
  struct stat info {};
  return ::fstat(file, &info) == 0 && info.st_nlink == 0;
}

void close_all_but(std::array<int, 5> kept) {
  // glibc has a function for it since 2.34.
  const auto close_range = [](unsigned first, unsigned last) {
    ::syscall(SYS_close_range, first, last, 0);
  };
  std::sort(kept.begin(), kept.end());
  unsigned from = 0;
  for (const int fd : kept) {
    if (fd < 0) continue;
    const auto number = static_cast<unsigned>(fd);
    if (number > from) close_range(from, number - 1);
    from = number + 1;
  }
  close_range(from, ~0U);
}

// Restores the former modes, if the terminal still has those that the supervisor set.
void restore(const HolderJob& job) {
  termios now{};
  if (job.terminal < 0 || ::tcgetattr(job.terminal, &now) != 0) return;
  const bool ours = now.c_iflag == job.raw.c_iflag && now.c_oflag == job.raw.c_oflag &&
                    now.c_lflag == job.raw.c_lflag && now.c_cflag == job.raw.c_cflag;
  if (ours) ::tcsetattr(job.terminal, TCSANOW, &job.former);
}

// Runs in the holder: only async-signal-safe calls.
class Loop {
 public:
  Loop(const HolderJob& job, int control) : job_(job), control_(control) {}

  [[noreturn]] void run() {
    ::setsid();
    for (const int s : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE, SIGTTIN, SIGTTOU})
      ::signal(s, SIG_IGN);
    ::prctl(PR_SET_NAME, "pty-holder");
    [[maybe_unused]] const int moved = ::chdir("/");
    close_all_but({job_.master, job_.file, job_.command, job_.terminal, control_});
    for (;;) {
      const bool open = empty_master(job_.master, job_.file);
      listen(open ? kNapMs : kIdleMs, false);
      if (!open && ended()) ::_exit(0);
      if (open) listen(-1, true);
    }
  }

 private:
  [[nodiscard]] bool ended() const {
    pollfd command{.fd = job_.command, .events = POLLIN, .revents = 0};
    return ::poll(&command, 1, 0) == 1;
  }

  // Waits for the supervisor and, if asked, for output.
  void listen(int milliseconds, bool output) {
    std::array<pollfd, 2> waiting{
        pollfd{.fd = control_, .events = POLLIN, .revents = 0},
        pollfd{.fd = output ? job_.master : -1, .events = POLLIN, .revents = 0}};
    if (::poll(waiting.data(), waiting.size(), milliseconds) > 0 && waiting[0].revents != 0) obey();
  }

  void obey() {
    char word = 0;
    const ssize_t n = ::recv(control_, &word, 1, MSG_DONTWAIT);
    if (n == 1) {
      empty_master(job_.master, job_.file);
      ::send(control_, &kDrainWord, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      restore(job_);
      ::close(control_);
      // The session at the other end ends only when no process has the terminal open.
      ::close(job_.terminal);
      control_ = -1;
      job_.terminal = -1;
    }
  }

  HolderJob job_;
  int control_;
};

}  // namespace

bool empty_master(int master, int file) {
  std::array<char, 16384> buffer;
  const bool wanted = !is_deleted(file);
  for (;;) {
    const ssize_t n = ::read(master, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 && errno == EAGAIN;
    for (ssize_t at = 0; wanted && at < n;) {
      const ssize_t written = ::write(file, buffer.data() + at, static_cast<std::size_t>(n - at));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      at += written;
    }
  }
}

Result<Holder> Holder::start(const HolderJob& job) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair", errno);
  sys::Fd ours(ends[0]);
  const sys::Fd theirs(ends[1]);
  const pid_t pid = TRY(sys::fork_here([&] { Loop(job, theirs.get()).run(); }));
  return Holder(pid, std::move(ours));
}

bool Holder::lives() {
  if (pid_ == 0) return false;
  const pid_t got = ::waitpid(pid_, nullptr, WNOHANG);
  if (got == 0) return true;
  pid_ = 0;
  control_.reset();
  return false;
}

bool Holder::drain() {
  if (!lives()) return false;
  char word = kDrainWord;
  if (::send(control_.get(), &word, 1, MSG_NOSIGNAL) != 1) return false;
  pollfd answer{.fd = control_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&answer, 1, kDrainMs) == 1 && ::recv(control_.get(), &word, 1, MSG_DONTWAIT) == 1;
}

void Holder::let_go() {
  control_.reset();
  // Usually the holder ends at once; one that still holds a terminal open for a process is left
  // alone.
  for (int i = 0; i < 40 && lives(); ++i)
    sys::system_clock().sleep_until(sys::boot_now() + Nanos(std::chrono::milliseconds(5)));
}

}  // namespace corral::run
