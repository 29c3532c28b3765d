#include "collocate/nvidia/mps.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "core/failpoint.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/private_directory.h"
#include "sys/process.h"

namespace corral::collocate::nvidia {
namespace {

// ---- commands of nvidia-cuda-mps-control

constexpr std::string_view kProgram = "nvidia-cuda-mps-control";

Result<sys::Fd> memory_file(std::string_view content) {
  sys::Fd file(::memfd_create("mps-control", MFD_CLOEXEC));
  if (!file) return fail_errno("memfd_create", errno);
  TRY(sys::write_all(file.get(), content));
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return fail_errno("lseek", errno);
  return file;
}

std::string read_content(const sys::Fd& file) {
  std::string text(std::size_t{64} << 10U, '\0');
  const ssize_t n = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return std::string(trim(text));
}

std::vector<std::string> control_environment(const MpsCommand& command) {
  std::vector<std::string> all;
  for (std::string& variable : sys::own_environment())
    if (!variable.starts_with("CUDA_")) all.push_back(std::move(variable));
  all.push_back("CUDA_MPS_PIPE_DIRECTORY=" + command.pipe.string());
  all.push_back("CUDA_MPS_LOG_DIRECTORY=" + command.log.string());
  all.insert(all.end(), command.environment.begin(), command.environment.end());
  return all;
}

// Returns the exit status. A process that still runs at the limit is killed, which is an error.
Result<int> wait_for(pid_t pid, Nanos limit) {
  const BootTime deadline = sys::boot_now() + limit;
  const sys::Fd handle = sys::open_process(pid).value_or(sys::Fd());
  bool late = false;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - sys::boot_now()).count();
    pollfd waiting{.fd = handle.get(), .events = POLLIN, .revents = 0};
    if (handle && left > 0) {
      const int ready = ::poll(&waiting, 1, static_cast<int>(left));
      if (ready < 0 && errno == EINTR) continue;
      late = ready == 0;
    } else {
      late = left <= 0;
    }
    break;
  }
  if (late) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) return fail(Code::kUnavailable, "it did not answer in time");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// ---- daemons

// The daemon's own socket names are added to it; the system takes 107 bytes.
constexpr std::size_t kLongestPipe = 80;
constexpr int kQuitSeconds = 5;  // time for clients before the daemon ends them
constexpr Nanos kQuitLimit{std::chrono::seconds(kQuitSeconds + 10)};
constexpr Nanos kSignalWait{std::chrono::seconds(1)};
constexpr Nanos kStartWait{std::chrono::seconds(10)};
constexpr Nanos kPause{std::chrono::milliseconds(5)};

template <class Condition>
bool wait_until(Nanos limit, Condition condition) {
  const BootTime deadline = sys::boot_now() + limit;
  while (!condition()) {
    if (sys::boot_now() >= deadline) return false;
    sys::system_clock().sleep_until(sys::boot_now() + kPause);
  }
  return true;
}

// True if the process is neither gone nor an unreaped zombie.
bool is_running(pid_t pid) {
  const auto identity = sys::identity_of(pid);
  return identity && sys::is_alive(*identity);
}

// True if the process was started for this pipe directory: PIDs are reused.
bool serves(pid_t pid, const fs::path& pipe) {
  const auto environment = sys::read_file(fmt::format("/proc/{}/environ", pid));
  if (!environment) return false;
  for (const std::string_view variable : split(*environment, '\0'))
    if (variable == "CUDA_MPS_PIPE_DIRECTORY=" + pipe.string()) return true;
  return false;
}

std::optional<pid_t> own_daemon_in(const fs::path& pipe) {
  const auto pid = mps_daemon_in(pipe);
  return pid && serves(*pid, pipe) ? pid : std::nullopt;
}

// Returns all processes that were started for this pipe directory: a starting daemon has not
// written its PID yet.
std::vector<pid_t> processes_serving(const fs::path& pipe) {
  std::vector<pid_t> found;
  for (const std::string& name : sys::list_directory("/proc")) {
    const auto pid = parse_int(name);
    if (!pid || *pid == ::getpid()) continue;
    const auto comm = sys::read_file(fs::path("/proc") / name / "comm");
    if (comm && comm->starts_with("nvidia-cuda-mps") && serves(static_cast<pid_t>(*pid), pipe))
      found.push_back(static_cast<pid_t>(*pid));
  }
  return found;
}

bool end_with(int signal, const fs::path& pipe) {
  for (const pid_t pid : processes_serving(pipe)) ::kill(pid, signal);
  return wait_until(kSignalWait, [&] {
    for (const pid_t pid : processes_serving(pipe))
      if (is_running(pid)) return false;
    return true;
  });
}

MpsCommand command_to(const MpsDaemon& daemon, const std::string& program, std::string input) {
  return {
      .program = program, .pipe = daemon.pipe(), .log = daemon.log(), .input = std::move(input)};
}

Result<> end_daemon(const MpsDaemon& daemon, const std::string& program) {
  if (const auto pid = own_daemon_in(daemon.pipe())) {
    MpsCommand quit = command_to(daemon, program, fmt::format("quit -t {}\n", kQuitSeconds));
    quit.limit = kQuitLimit;
    const auto said = run_mps_control(quit);
    if (said && wait_until(kSignalWait, [&] { return !is_running(*pid); })) return {};
  }
  if (end_with(SIGTERM, daemon.pipe()) || end_with(SIGKILL, daemon.pipe())) return {};
  return fail(Code::kUnavailable, "the MPS daemon in " + daemon.pipe().string() + " does not end");
}

// Removes only our own files: the directory stays if it contains others.
Result<> remove_directories(const MpsDaemon& daemon) {
  const auto files = sys::PrivateDirectory::open(daemon.directory);
  if (!files && files.error().code == Code::kNotFound) return {};
  if (!files) return tl::unexpected(files.error());
  for (const fs::path& path : {daemon.pipe(), daemon.log()}) {
    if (!files->remove_all(path.filename()))
      return fail(Code::kIo, path.string() + ": cannot be removed");
  }
  if (::rmdir(daemon.directory.c_str()) != 0) return fail_errno(daemon.directory.string(), errno);
  return {};
}

Result<> launch(const MpsDaemon& daemon, const std::string& program) {
  const auto files = TRY(sys::PrivateDirectory::make(daemon.directory));
  TRY(files.make_directory(daemon.pipe().filename()));
  TRY(files.make_directory(daemon.log().filename()));
  MpsCommand start = command_to(daemon, program, "");
  start.environment = {"CUDA_VISIBLE_DEVICES=" + join(daemon.uuids, ","),
                       "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
  start.arguments = {"-d"};
  TRY(run_mps_control(start));
  failpoint::reach("nvidia.made");
  if (!wait_until(kStartWait, [&] { return own_daemon_in(daemon.pipe()).has_value(); }))
    return fail(Code::kUnavailable, "the MPS daemon is not there after its start");
  TRY(run_mps_control(command_to(daemon, program, "get_server_list\n")));
  return {};
}

MpsDaemon daemon_from_entry(const Standing& entry) {
  MpsDaemon daemon;
  daemon.directory = entry.change.target;
  for (const std::string_view uuid : split(entry.change.after, ','))
    daemon.uuids.emplace_back(uuid);
  return daemon;
}

}  // namespace

// ---- commands of nvidia-cuda-mps-control

Result<std::string> run_mps_control(const MpsCommand& command) {
  const std::string name(command.program.empty() ? kProgram : command.program);
  const char* path = std::getenv("PATH");
  auto program = sys::find_in_path(name, path != nullptr ? path : "/usr/bin:/bin");
  if (!program) {
    return fail(program.error().code,
                program.error().message + " (it is part of the driver, and MPS requires it)");
  }
  const sys::Fd input = TRY(memory_file(command.input));
  const sys::Fd output = TRY(memory_file(""));
  std::vector<std::string> argv{program->string()};
  argv.insert(argv.end(), command.arguments.begin(), command.arguments.end());
  sys::GatedChild child = TRY(sys::GatedChild::spawn({.argv = argv,
                                                      .environment = control_environment(command),
                                                      .directory = "/",
                                                      .standard_input = input.get(),
                                                      .standard_output = output.get(),
                                                      .standard_error = output.get(),
                                                      .new_session = true}));
  TRY(child.release());
  const auto status = wait_for(child.pid(), command.limit);
  if (!status) return tl::unexpected(status.error().with_context(name));
  const std::string said = read_content(output);
  if (*status == 0) return said;
  return fail(Code::kIo, name + " ends with status " + std::to_string(*status) +
                             (said.empty() ? "" : ": " + said));
}

// ---- daemons

MpsDaemon mps_daemon(const fs::path& state, const std::vector<std::string>& uuids) {
  const auto now = static_cast<std::uint64_t>(ns_of(sys::boot_now()));
  const std::string name =
      fmt::format("{}-{:x}", uuids.empty() ? "none" : uuids.front().substr(4, 8), now);
  MpsDaemon daemon{.uuids = uuids, .directory = state / "mps" / name};
  if (daemon.pipe().string().size() > kLongestPipe)
    daemon.directory = fmt::format("/tmp/corral-mps-{}-{}", ::getuid(), name);
  return daemon;
}

Result<> start_mps(Journal& journal, const MpsDaemon& daemon, const std::string& program) {
  const std::uint64_t entry =
      TRY(journal.note({.kind = "mps",
                        .target = daemon.directory.string(),
                        .after = join(daemon.uuids, ","),
                        .words = "MPS daemon for " + join(daemon.uuids, ",") + ": started"}));
  if (const auto started = launch(daemon, program); !started) {
    if (end_daemon(daemon, program) && remove_directories(daemon)) TRY(journal.undone(entry));
    return tl::unexpected(started.error().with_context("MPS"));
  }
  const auto pid = own_daemon_in(daemon.pipe());
  return journal.complete(entry, fmt::format("{}", pid.value_or(0)));
}

std::vector<std::string> mps_environment(const MpsDaemon& daemon, const plan::Share& share) {
  std::vector<std::string> variables{"CUDA_MPS_PIPE_DIRECTORY=" + daemon.pipe().string(),
                                     "CUDA_MPS_LOG_DIRECTORY=" + daemon.log().string()};
  if (share.mps_threads_percent) {
    variables.push_back(
        fmt::format("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={}", *share.mps_threads_percent));
  }
  if (share.mps_memory_bytes) {
    // Limits are by the client's own device numbers, in whole MiB.
    std::string limits;
    for (std::size_t i = 0; i < share.devices.size(); ++i)
      limits += fmt::format("{}{}={}M", i == 0 ? "" : ",", i, *share.mps_memory_bytes >> 20);
    variables.push_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=" + limits);
  }
  if (share.mps_priority)
    variables.push_back(fmt::format("CUDA_MPS_CLIENT_PRIORITY={}", *share.mps_priority));
  return variables;
}

Result<bool> put_back_mps(const Standing& entry, const UndoOptions& options) {
  const MpsDaemon daemon = daemon_from_entry(entry);
  std::error_code error;
  if (!fs::exists(daemon.directory, error)) return false;
  if (options.dry_run) return true;
  TRY(end_daemon(daemon, options.mps_control));
  TRY(remove_directories(daemon));
  return true;
}

std::string mps_clients(const Standing& entry, const UndoOptions& options) {
  const MpsDaemon daemon = daemon_from_entry(entry);
  if (!own_daemon_in(daemon.pipe())) return "";
  const auto servers =
      run_mps_control(command_to(daemon, options.mps_control, "get_server_list\n"));
  if (!servers) return "";
  std::string clients;
  for (const std::string_view server : split(*servers, '\n')) {
    if (!parse_int(trim(server))) continue;
    const auto list = run_mps_control(
        command_to(daemon, options.mps_control, fmt::format("get_client_list {}\n", trim(server))));
    if (!list) continue;
    for (const std::string_view client : split(*list, '\n')) {
      if (parse_int(trim(client)))
        clients += fmt::format("{}{}", clients.empty() ? "" : ", ", trim(client));
    }
  }
  return clients;
}

std::optional<pid_t> mps_daemon_in(const fs::path& pipe) {
  // An operator's daemon may belong to another user, who could have made the file a pipe.
  const fs::path file = pipe / "nvidia-cuda-mps-control.pid";
  const auto opened = sys::open_file(file, O_RDONLY | O_NONBLOCK);
  const auto text = opened ? sys::read_all(*opened, file, 64) : tl::unexpected(opened.error());
  if (!text) return std::nullopt;
  const auto pid = parse_int(trim(*text));
  if (!pid || *pid <= 0) return std::nullopt;
  const auto comm = sys::read_file(fmt::format("/proc/{}/comm", *pid));
  if (!comm || !comm->starts_with("nvidia-cuda-mps")) return std::nullopt;
  if (!is_running(static_cast<pid_t>(*pid))) return std::nullopt;
  return static_cast<pid_t>(*pid);
}

}  // namespace corral::collocate::nvidia
