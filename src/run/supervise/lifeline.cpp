#include "run/supervise/lifeline.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "run/command.h"
#include "sys/inherited.h"
#include "sys/process.h"

namespace corral::run {
namespace {

void say(std::string_view before, std::string_view what, std::string_view after) noexcept {
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  static constexpr std::size_t kPart = 600;
  const auto cut = [](std::string_view text) {
    return static_cast<int>(std::min<std::size_t>(text.size(), kPart));
  };
  std::array<char, 4 * kPart> line;
  const int n = std::snprintf(line.data(), line.size(), "corral run: %.*s%.*s%.*s", cut(before),
                              before.data(), cut(what), what.data(), cut(after), after.data());
  const auto end = line.begin() + std::max(n, 0);
  // Names of files may contain control characters of a terminal.
  const auto obeyed = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::replace_if(line.begin(), end, obeyed, '?');
  *end = '\n';
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(end - line.begin() + 1));
}

std::vector<std::string> command_words(const Options& options) {
  std::vector<std::string> words = options.command;
  if (words.empty() || !words[0].ends_with(".py")) return words;
  const char* chosen = std::getenv("CORRAL_PYTHON");
  words.insert(words.begin(), !options.python.empty()                ? options.python
                              : chosen != nullptr && *chosen != '\0' ? chosen
                                                                     : "python3");
  return words;
}

// Returns this process's environment, with the Python package last on its path: a script that
// imports the package still runs.
std::vector<std::string> own_environment_with_package(const Options& options) {
  std::vector<std::string> entries = sys::own_environment();
  if (options.python_path.empty()) return entries;
  constexpr std::string_view kName = "PYTHONPATH=";
  const auto set = std::ranges::find_if(
      entries, [&](const std::string& entry) { return entry.starts_with(kName); });
  if (set == entries.end())
    entries.push_back(std::string(kName) + options.python_path.string());
  else
    *set += (set->size() > kName.size() ? ":" : "") + options.python_path.string();
  return entries;
}

}  // namespace

void say_not_recorded(std::string_view reason) noexcept {
  say("not recorded: ", reason, "; running the command");
}

InPlace::InPlace(const Options& options)
    : possible_(!options.command.empty() && options.adopt.empty() && options.environment.empty() &&
                options.directory.empty() && options.gate.release < 0 && options.gate.reports < 0 &&
                options.placement.groups.empty() && options.placement.cpus.empty()),
      words_(command_words(options)),
      entries_(own_environment_with_package(options)) {
  for (std::string& word : words_) argv_.push_back(word.data());
  argv_.push_back(nullptr);
  for (std::string& entry : entries_) environment_.push_back(entry.data());
  environment_.push_back(nullptr);
}

int InPlace::execute(std::string_view reason) const noexcept {
  say_not_recorded(reason);
  sys::restore_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::execvpe(argv_[0], argv_.data(), environment_.data());
  const int error = errno;
  say(argv_[0], ": ", std::strerror(error));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace corral::run

namespace corral::run::lifeline {
namespace {

constexpr std::array kFaults = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
constexpr int kRunning = -1;
constexpr int kNobodyKnows = 125;
constexpr int kMissed = 20;  // polls of a command that another thread has reaped
constexpr int kSlices = 40;  // slices of 50 ms in which the other threads may end the run properly

std::atomic<const InPlace*> stand_in{nullptr};
std::atomic<pid_t> child{0};
std::atomic<int> result{kRunning};  // a shell's exit status
std::atomic<pid_t> passer{0};       // thread id
std::atomic<Relay*> output{nullptr};
std::atomic<int> missed{0};
std::atomic<bool> has_terminal{false};
termios terminal;
alignas(16) std::array<char, 64u << 10> fault_stack;

int exit_status(int status) noexcept {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool is_main() noexcept { return ::gettid() == ::getpid(); }

// Waits for a slice of time. The user's signals are forwarded to the command, in place of the main
// thread.
void pause_and_forward() noexcept {
  const timespec slice{.tv_sec = 0, .tv_nsec = 50'000'000};
  sigset_t set;
  ::sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGQUIT}) ::sigaddset(&set, s);
  const int signal =
      is_main() ? ::sigtimedwait(&set, nullptr, &slice) : ::nanosleep(&slice, nullptr);
  if (signal > 0) ::kill(-child.load(), signal);
}

void pass_on() noexcept {
  Relay* const relay = output.load();
  if (relay != nullptr && passer.load() == ::gettid()) relay->pass_on();
}

// False: the command runs. Only the main thread reaps it.
bool poll_command() noexcept {
  if (result.load() != kRunning) return true;
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | (is_main() ? 0 : WNOWAIT);
  if (::waitid(P_PID, static_cast<id_t>(child.load()), &info, options) != 0) {
    if (errno == ECHILD && ++missed > kMissed && result.load() == kRunning) result = kNobodyKnows;
  } else if (info.si_pid != 0) {
    result = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
  }
  return result.load() != kRunning;
}

// Runs in the failing thread: only async-signal-safe calls.
void on_fault(int signal) noexcept {
  if (const InPlace* const in_place = stand_in.exchange(nullptr); in_place != nullptr)
    ::_exit(in_place->execute("the supervisor failed"));
  if (child.load() == 0) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  constexpr std::string_view kSaid =
      "corral: the supervisor failed; waiting for the command, the rest is not recorded\n";
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kSaid.data(), kSaid.size());
  if (has_terminal.load()) ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
  while (!poll_command()) {
    pass_on();
    pause_and_forward();
  }
  // The main thread may reach the run's end, and the spooler the end of the output.
  for (int i = 0; i < kSlices; ++i) {
    pass_on();
    const Relay* const relay = output.load();
    if (is_main() && (relay == nullptr || relay->all_passed_on())) break;
    pause_and_forward();
  }
  // The spooler has ended, or waits for this thread, which passes the output on.
  if (Relay* const relay = output.load(); relay != nullptr) relay->pass_on();
  ::_exit(result.load());
}

}  // namespace

void guard(const InPlace* in_place) noexcept {
  stand_in = in_place;
#ifndef __SANITIZE_ADDRESS__
  const stack_t stack{.ss_sp = fault_stack.data(), .ss_flags = 0, .ss_size = fault_stack.size()};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_fault;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  for (const int fault : kFaults) ::sigaction(fault, &action, nullptr);
#endif
}

void hold(pid_t command) noexcept {
  has_terminal = ::tcgetattr(STDIN_FILENO, &terminal) == 0;
  child = command;
}

void ended(int status) noexcept { result = exit_status(status); }

void passes_on(Relay& relay) noexcept {
  output = &relay;
  passer = ::gettid();
}

void release() noexcept {
  child = 0;
  output = nullptr;
}

int wait() noexcept {
  while (!poll_command()) pause_and_forward();
  return result.load();
}

}  // namespace corral::run::lifeline
