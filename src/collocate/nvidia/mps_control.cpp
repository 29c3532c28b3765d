#include "collocate/nvidia/mps_control.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "core/text.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace corral::collocate::nvidia {
namespace {

constexpr std::string_view kProgram = "nvidia-cuda-mps-control";

Result<sys::Fd> memory_file(std::string_view content) {
  sys::Fd file(::memfd_create("mps-control", MFD_CLOEXEC));
  if (!file) return fail_errno("memfd_create", errno);
  TRY(sys::write_all(file.get(), content));
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return fail_errno("lseek", errno);
  return file;
}

std::string content_of(const sys::Fd& file) {
  std::string text(std::size_t{64} << 10U, '\0');
  const ssize_t n = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return std::string(trim(text));
}

std::vector<std::string> environment_of(const MpsCommand& command) {
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

}  // namespace

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
                                                      .environment = environment_of(command),
                                                      .directory = "/",
                                                      .standard_input = input.get(),
                                                      .standard_output = output.get(),
                                                      .standard_error = output.get(),
                                                      .new_session = true}));
  TRY(child.release());
  const auto status = wait_for(child.pid(), command.limit);
  if (!status) return tl::unexpected(status.error().with_context(name));
  const std::string said = content_of(output);
  if (*status == 0) return said;
  return fail(Code::kIo, name + " ends with status " + std::to_string(*status) +
                             (said.empty() ? "" : ": " + said));
}

}  // namespace corral::collocate::nvidia
