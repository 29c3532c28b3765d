// Listener "nvidia-processes": the use of NVIDIA's GPUs by the run's own processes: memory, and
// their share of the SMs' time as the driver samples it. Once a second, because the driver's
// process lists are dear. For the device lane.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "collect/listener.h"
#include "collect/nvidia/sample_rings.h"
#include "collect/tree/process_files.h"

namespace corral::collect {

std::unique_ptr<Listener> open_nvidia_process_listener(const ListenerContext& context,
                                                       SeriesTable& table);

namespace nvidia {

// RunProcesses: does a process belong to the run?
//
// It does when it descends from the run's first process or from the supervisor, to which the kernel
// gives what outlives its parent. Follows /proc/PID/stat upwards: the few processes that use a GPU
// cost less than a walk over the whole tree. Allocates nothing after construction. One thread.
class RunProcesses {
 public:
  struct Options {
    std::filesystem::path root = "/";
    pid_t run_pid = 0;
    pid_t supervisor_pid = 0;
  };
  explicit RunProcesses(const Options& options);

  [[nodiscard]] bool holds(pid_t pid);
  // Why the driver's process ids cannot be looked up here; empty when they can.
  [[nodiscard]] std::string obstacle() const;

 private:
  static constexpr int kDeepest = 64;

  tree::ProcessFiles files_;
  std::filesystem::path own_namespace_;
  pid_t run_;
  pid_t supervisor_;
};

// With clocks of the test's, which live longer than the listener.
std::unique_ptr<Listener> open_process_listener(const ListenerContext& context, SeriesTable& table,
                                                const Clocks& clocks);
}  // namespace nvidia

}  // namespace corral::collect
