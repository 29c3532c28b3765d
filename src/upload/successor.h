// Successor: what programs of a run still ask of its supervisor, which is gone (run/mlflow/): the
// finisher has it answered for as long as the command lives. On the finisher's thread.
#pragma once

#include <functional>
#include <memory>

#include "spool/journal.h"
#include "spool/run_directory.h"

namespace corral::upload {

class Successor {
 public:
  // Answers nothing more, and ends nothing.
  virtual ~Successor() = default;
  // Once a round while the command lives. Failed steps are tried again, then reported in the run's
  // journal.
  virtual void serve() = 0;
  [[nodiscard]] virtual bool serving() const = 0;
  // The command is gone: ends the runs that its programs left open, before the run ends.
  virtual void end() = 0;
};

// Both outlive the result; nullptr: there is nothing to do for this run.
using MakeSuccessor =
    std::function<std::unique_ptr<Successor>(const spool::RunDirectory&, spool::Journal&)>;

}  // namespace corral::upload
