// RunProcesses: does a process belong to the run?
//
// It does when it descends from the run's first process or from the supervisor, to which the kernel
// gives what outlives its parent. Follows /proc/PID/stat upwards: the few processes that use a GPU
// cost less than a walk over the whole tree. Allocates nothing after construction. One thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace corral::collect::nvidia {

class RunProcesses {
 public:
  struct Options {
    std::filesystem::path root = "/";
    pid_t run_pid = 0;
    pid_t supervisor_pid = 0;
  };
  explicit RunProcesses(const Options& options);

  [[nodiscard]] bool holds(pid_t pid) const;
  // Why the driver's process ids cannot be looked up here; empty when they can.
  [[nodiscard]] std::string obstacle() const;

 private:
  static constexpr int kDeepest = 64;
  [[nodiscard]] pid_t parent_of(pid_t pid) const;

  std::string proc_;
  pid_t run_;
  pid_t supervisor_;
};

}  // namespace corral::collect::nvidia
