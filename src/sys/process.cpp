#include "sys/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>

#include "core/guarded.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/inherited.h"
#include "sys/thread_guard.h"

namespace corral::sys {
namespace {

constexpr std::size_t kCapturedBytes = 64u << 10;
constexpr std::size_t kStateField = 0;  // fields of /proc/PID/stat after the command
constexpr std::size_t kStartField = 19;

// Fields after the command's closing parenthesis, which may itself hold blanks and parentheses.
Result<std::vector<std::string>> stat_fields(pid_t pid) {
  const std::string text = TRY(read_file("/proc/" + std::to_string(pid) + "/stat"));
  const std::size_t close = text.rfind(')');
  if (close == std::string::npos) return fail(Code::kCorruption, "/proc/PID/stat has no command");
  std::vector<std::string> fields;
  for (const std::string_view part : split(trim(std::string_view(text).substr(close + 1)), ' '))
    fields.emplace_back(part);
  if (fields.size() <= kStartField) return fail(Code::kCorruption, "/proc/PID/stat is short");
  return fields;
}

// Every child of this process that it started itself; pids are few and stay.
Guarded<std::set<pid_t>>& started() {
  static Guarded<std::set<pid_t>> pids;
  return pids;
}

pid_t fork_known() {
  // Held over the fork: a reader of the children sees none that is not registered yet.
  return started().with([](auto& pids) {
    const pid_t child = ::fork();
    if (child > 0) pids.insert(child);
    return child;
  });
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

struct Pipe {
  Fd read;
  Fd write;
};
Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return fail_errno("pipe", errno);
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void child_main(const SpawnOptions& options, char* const* as_script,
                             char* const* environment, int gate, int report) {
  char* const* const argv = as_script + 1;
  if (options.new_session) {
    ::setsid();
    // Drops those that came before: the terminal's, and those to the whole group.
    for (const int s : {SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGTERM}) ::signal(s, SIG_IGN);
  }
  if (options.new_group) ::setpgid(0, 0);
  if (options.own_terminal) ::ioctl(options.standard_input, TIOCSCTTY, 0);
  // Should the parent be gone by now, the gate is closed.
  if (options.death_signal != 0) ::prctl(PR_SET_PDEATHSIG, options.death_signal);
  options.inherits_signals ? restore_signals() : reset_signals();
  if (options.own_terminal) ::signal(SIGHUP, SIG_IGN);
  // One that is to stay as it is may be closed (note_inherited()).
  const auto place = [](int from, int to) {
    if (from != to) ::dup2(from, to);
  };
  place(options.standard_input, 0);
  place(options.standard_output, 1);
  place(options.standard_error, 2);
  if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) ::_exit(126);
  char go = 0;
  while (::read(gate, &go, 1) < 0 && errno == EINTR) {
  }
  if (go != 1) ::_exit(126);  // the parent is gone: never start unseen
  ::execve(argv[0], argv, environment);
  // A script without a first line that names its interpreter, as execvp() has it.
  if (errno == ENOEXEC) ::execve("/bin/sh", as_script, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t n = ::write(report, &error, sizeof error);
  ::_exit(error == ENOENT ? 127 : 126);
}

}  // namespace

std::string boot_id() {
  const auto text = read_file("/proc/sys/kernel/random/boot_id");
  if (!text) return "";
  std::string hex;
  std::ranges::copy_if(*text, std::back_inserter(hex),
                       [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
  return hex;
}

Result<ProcessIdentity> identity_of(pid_t pid) {
  const auto fields = TRY(stat_fields(pid));
  const auto start = parse_int(fields[kStartField]);
  if (!start) return fail(Code::kCorruption, "/proc/PID/stat: start time");
  return ProcessIdentity{
      .pid = pid, .start_ticks = static_cast<std::uint64_t>(*start), .boot_id = boot_id()};
}

BootTime start_of(const ProcessIdentity& identity) {
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return boot_time(static_cast<std::int64_t>(identity.start_ticks * (1'000'000'000 / per_second)));
}

bool is_alive(const ProcessIdentity& identity) {
  if (identity.pid <= 0 || identity.boot_id != boot_id()) return false;
  const auto fields = stat_fields(identity.pid);
  if (!fields) return false;
  const std::string& state = (*fields)[kStateField];
  return state != "Z" && state != "X" &&
         parse_int((*fields)[kStartField]) == static_cast<std::int64_t>(identity.start_ticks);
}

Result<Fd> open_process(pid_t pid) {
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
  if (!process) return fail_errno("process " + std::to_string(pid), errno);
  return process;
}

void signal_process(const Fd& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

Result<GatedChild> GatedChild::spawn(const SpawnOptions& options) {
  Pipe gate = TRY(make_pipe());
  Pipe report = TRY(make_pipe());
  std::vector<char*> argv = pointers(options.argv);
  std::string shell = "/bin/sh";
  argv.insert(argv.begin(), shell.data());
  const std::vector<char*> environment = pointers(options.environment);
  // Until the child has its own session, a signal to the group of this process is not for it.
  const SignalsBlocked held;
  const pid_t pid = fork_known();
  if (pid < 0) return fail_errno("fork", errno);
  if (pid == 0) {
    gate.write.reset();
    child_main(options, argv.data(), environment.data(), gate.read.get(), report.write.get());
  }
  return GatedChild(pid, std::move(gate.write), std::move(report.read));
}

Result<> GatedChild::release() {
  const char go = 1;
  TRY(write_all(gate_.get(), {&go, 1}));
  gate_.reset();
  int error = 0;
  ssize_t n = 0;
  while ((n = ::read(report_.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (n != sizeof error) return {};  // closed by exec
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  return fail_errno("exec", error);
}

Result<pid_t> spawn_detached(const std::vector<std::string>& argv,
                             const std::vector<std::string>& environment, const Fd& log) {
  const Fd null = TRY(open_file("/dev/null", O_RDWR));
  const int out = log ? log.get() : null.get();
  GatedChild child = TRY(GatedChild::spawn({.argv = argv,
                                            .environment = environment,
                                            .directory = "/",
                                            .standard_input = null.get(),
                                            .standard_output = out,
                                            .standard_error = out,
                                            .new_session = true}));
  const sched_param idle{};
  ::sched_setscheduler(child.pid(), SCHED_IDLE, &idle);
  TRY(child.release());
  return child.pid();
}

Result<std::string> capture_output(const CaptureOptions& options, int* exit_code) {
  Pipe out = TRY(make_pipe());
  const Fd null = TRY(open_file("/dev/null", O_RDWR));
  std::vector<std::string> argv = options.argv;
  argv.at(0) = TRY(find_in_path(argv.at(0))).string();
  SpawnOptions spawned{.argv = std::move(argv),
                       .environment = options.environment.value_or(own_environment()),
                       .directory = options.directory,
                       .standard_input = options.standard_input,
                       .standard_output = out.write.get(),
                       .standard_error = null.get(),
                       .new_session = false,
                       .death_signal = SIGKILL};
  if (spawned.standard_input < 0) spawned.standard_input = null.get();
  GatedChild child = TRY(GatedChild::spawn(spawned));
  const sched_param idle{};
  if (options.idle) ::sched_setscheduler(child.pid(), SCHED_IDLE, &idle);
  out.write.reset();
  TRY(child.release());
  const BootTime deadline = boot_now() + options.limit;
  constexpr std::chrono::milliseconds kSlice(100);
  std::string text;
  bool late = false;
  bool refused = false;
  while (!refused) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - boot_now());
    late = rest.count() <= 0 || (options.left && options.left());
    if (late) break;
    pollfd waiting{.fd = out.read.get(), .events = POLLIN, .revents = 0};
    const auto wait = options.left ? std::min(rest, kSlice) : rest;
    if (::poll(&waiting, 1, static_cast<int>(wait.count())) == 0) continue;
    std::array<char, 16384> buffer;
    const ssize_t n = ::read(out.read.get(), buffer.data(), buffer.size());
    if (n <= 0) break;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(n));
    // Read on: a helper whose pipe is full would never end.
    if (options.take)
      refused = !options.take(piece);
    else if (text.size() <= kCapturedBytes)
      text.append(piece);
  }
  if (late || refused) ::kill(child.pid(), SIGKILL);
  int status = 0;
  while (::waitpid(child.pid(), &status, 0) < 0 && errno == EINTR) {
  }
  if (late) return fail(Code::kUnavailable, options.argv[0] + " did not answer in time");
  if (refused) return fail(Code::kTooLarge, options.argv[0] + " prints more than is kept");
  if (exit_code != nullptr)
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return text;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char* const* e = environ; *e != nullptr; ++e) all.emplace_back(*e);
  return all;
}

std::string own_variable(const char* variable, std::string_view fallback) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : std::string(fallback);
}

Result<fs::path> find_in_path(const std::string& command, std::string_view path_variable) {
  const auto check = [](const fs::path& file) -> Result<fs::path> {
    std::error_code error;
    if (!fs::exists(file, error)) return fail(Code::kNotFound, file.string() + ": no such file");
    if (fs::is_directory(file, error))
      return fail(Code::kPermission, file.string() + ": is a directory");
    if (::access(file.c_str(), X_OK) != 0)
      return fail(Code::kPermission, file.string() + ": not executable");
    return file;
  };
  if (command.find('/') != std::string::npos) return check(command);
  Result<fs::path> best = fail(Code::kNotFound, command + ": command not found");
  for (const std::string_view directory : split(path_variable, ':')) {
    const fs::path file = fs::path(directory.empty() ? "." : directory) / command;
    std::error_code error;
    if (fs::is_directory(file, error)) continue;
    Result<fs::path> found = check(file);
    if (found) return found;
    if (found.error().code == Code::kPermission) best = std::move(found);
  }
  return best;
}

Result<fs::path> find_in_path(const std::string& command) {
  const char* path = std::getenv("PATH");
  return find_in_path(command, path != nullptr ? path : "/usr/bin:/bin");
}

Result<pid_t> fork_here(const std::function<void()>& body) {
  const pid_t pid = fork_known();
  if (pid < 0) return fail_errno("fork", errno);
  if (pid > 0) return pid;
  body();
  ::_exit(0);
}

bool started_here(pid_t pid) {
  return started().with([&](const auto& pids) { return pids.contains(pid); });
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> found;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const std::string& task : list_directory(tasks)) {
    const auto children = read_file(fs::path(tasks) / task / "children");
    if (!children) continue;
    for (const std::string_view part : split(*children, ' ')) {
      const auto child = parse_int(part);
      if (child) found.push_back(static_cast<pid_t>(*child));
    }
  }
  return found;
}

std::vector<pid_t> descendants_of(pid_t root) {
  std::vector<pid_t> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    for (const pid_t child : children_of(pid)) {
      found.push_back(child);
      open.push_back(child);
    }
  }
  return found;
}

}  // namespace corral::sys
