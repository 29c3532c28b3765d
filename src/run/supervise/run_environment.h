// RunEnvironment: the environment (environment/) in which a run's command is executed. It is
// prepared before anything else of the run; a container is removed after it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "environment/environment.h"
#include "run/command.h"
#include "run/notices.h"
#include "run/options.h"
#include "spool/run_directory.h"
#include "sys/fd.h"

namespace corral::run {

class RunEnvironment {
 public:
  // Builds missing parts. Without --environment it is this process's own environment.
  static Result<RunEnvironment> prepare(const Options& options, Notices& notices,
                                        const std::function<bool()>& cancelled);

  // Returns the command as it is recorded.
  [[nodiscard]] Result<Command> resolve(const Options& options) const;
  // The environment that the command inherits.
  [[nodiscard]] std::vector<std::string> inherited() const;

  struct Start {
    std::vector<std::string> argv;  // argv[0] is a path
    // The run's first process if it is not the started one (a container's) and is known before the
    // start.
    std::optional<pid_t> first{};
  };
  // The words to execute. A container is made here.
  Result<Start> start(const Command& command, environment::Inside inside);
  // Returns the container's first process, once it runs; nullopt: it is the started process.
  [[nodiscard]] std::optional<pid_t> locate() const;
  // Returns the container that was made; nullopt: none.
  [[nodiscard]] std::optional<spool::ContainerAddress> address() const;
  // Removes the container, even while it runs.
  void end() const;
  [[nodiscard]] bool in_container() const { return prepared_.in_container; }
  // True if the command is not a child of the started process.
  [[nodiscard]] bool is_apart() const { return environment::is_apart(prepared_); }

 private:
  environment::Prepared prepared_;
  std::string container_;  // the container that was made; empty: none
  std::string group_;
};

// FirstProcess: the first process of a container, which the container's tool starts and ends.
//
// The tool starts before the command's first instruction and ends after its last one. The process
// waits inside the container before its exec; the exec changes its command line. One thread.
class FirstProcess {
 public:
  // `waits`: the process has not executed the command yet.
  FirstProcess(pid_t pid, bool waits);
  // True from the command's first instruction on. Reads /proc.
  [[nodiscard]] bool executes() const;
  [[nodiscard]] bool ended() const;
  // A descriptor that is readable once the process has ended; -1: not supported by the kernel.
  [[nodiscard]] int descriptor() const { return process_.get(); }

 private:
  [[nodiscard]] std::string words() const;
  pid_t pid_;
  sys::Fd process_;
  std::string waiting_;  // the command line before the exec; empty: it does not wait
};

}  // namespace corral::run
