#include "collect/nvidia/run_processes.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <array>
#include <system_error>

#include "collect/proc_file.h"
#include "collect/tree/parse.h"
#include "sys/fd.h"

namespace corral::collect::nvidia {

RunProcesses::RunProcesses(const Options& options)
    : proc_((options.root / "proc").string()),
      run_(options.run_pid),
      supervisor_(options.supervisor_pid) {}

bool RunProcesses::holds(pid_t pid) const {
  for (int depth = 0; pid > 1 && depth < kDeepest; ++depth) {
    if (pid == run_ || pid == supervisor_) return true;
    pid = parent_of(pid);
  }
  return false;
}

pid_t RunProcesses::parent_of(pid_t pid) const {
  std::array<char, 512> path{};
  const auto end = fmt::format_to_n(path.data(), path.size() - 1, "{}/{}/stat", proc_, pid);
  if (end.size >= path.size()) return 0;
  const sys::Fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (!file) return 0;
  std::array<char, 1024> text{};
  const std::ptrdiff_t size = read_from_start(file.get(), text);
  tree::ProcessStat stat;
  if (size <= 0 || !tree::parse_process_stat({text.data(), static_cast<std::size_t>(size)}, stat)) {
    return 0;
  }
  return stat.parent;
}

std::string RunProcesses::obstacle() const {
  constexpr std::string_view kHostNamespace = "pid:[4026531836]";  // the kernel's constant
  std::error_code ignored;
  const auto own = std::filesystem::read_symlink(proc_ + "/self/ns/pid", ignored);
  if (own.empty() || own.string() == kHostNamespace) return "";
  return "the driver reports the host's process ids, but this "
         "container has its own (use the host's PID namespace)";
}

}  // namespace corral::collect::nvidia
