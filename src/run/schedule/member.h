// Member: one run of the workload that is being run, and what is to be seen of it.
#pragma once

#include <optional>
#include <string>

#include "plan/plan.h"
#include "run/progress.h"
#include "run/schedule/book.h"

namespace corral::run::schedule {

struct Member {
  enum class Stage {
    kPreparing,  // its supervisor prepares
    kReady,      // waits behind the gate
    kRunning,
    kEnding,  // the end is known, its supervisor still brings data away
    kGone,
  };
  plan::Row row;
  int repetition = 1;
  std::string run;
  std::string name;
  Stage stage = Stage::kPreparing;
  bool may_adopt = true;      // a supervisor that is killed is replaced
  std::string stop_reason{};  // why it was asked to stop; empty: it was not
  bool interrupted = false;   // asked to by a person
  std::optional<BootTime> started{};
  std::optional<BootTime> ended{};
  std::optional<End> end{};
  Progress progress{};  // as its supervisor says, while it runs

  [[nodiscard]] bool over() const { return end.has_value(); }
  // "preparing", "running" or an outcome.
  [[nodiscard]] std::string state() const {
    if (end) return end->outcome;
    return stage == Stage::kRunning ? "running" : "preparing";
  }
};

}  // namespace corral::run::schedule
