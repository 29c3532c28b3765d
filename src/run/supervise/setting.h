// Setting: the environment (environment/) that a run's command is executed in, prepared before
// anything else of the run, and taken away with a container after it.
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

namespace corral::run {

class Setting {
 public:
  // Builds what is missing. Without --environment it is this process's own.
  static Result<Setting> prepare(const Options& options, Notices& notices,
                                 const std::function<bool()>& cancelled);

  // The command as it is recorded.
  [[nodiscard]] Result<Command> resolve(const Options& options) const;
  // The environment that the command inherits.
  [[nodiscard]] std::vector<std::string> inherited() const;

  struct Start {
    std::vector<std::string> argv;  // argv[0] is a path
    // The run's first process, where it is another than the one that is started (a container's) and
    // known before the start.
    std::optional<pid_t> first{};
  };
  // The words to execute. A container is made here.
  Result<Start> start(const Command& command, environment::Inside inside);
  // The container's first process, once it runs; nothing: the one that was started.
  [[nodiscard]] std::optional<pid_t> locate() const;
  // The container that was made; nothing: none.
  [[nodiscard]] std::optional<spool::ContainerAddress> address() const;
  // Takes the container away, whatever it does.
  void end() const;
  [[nodiscard]] bool in_container() const { return prepared_.in_container; }
  // The command is another's child than the process that is started.
  [[nodiscard]] bool is_apart() const { return environment::is_apart(prepared_); }

 private:
  environment::Prepared prepared_;
  std::string container_;  // made; empty: none
  std::string group_;
};

}  // namespace corral::run
