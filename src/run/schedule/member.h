// Member: one run of the current workload, with its visible state.
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
    kEnding,  // the end is known, its supervisor still uploads data
    kGone,
  };
  plan::Row row;
  int repetition = 1;
  std::string run;
  std::string name;
  Stage stage = Stage::kPreparing;
  bool may_adopt = true;      // a supervisor that is killed is replaced
  std::string stop_reason{};  // reason of a requested stop; empty: none was requested
  bool interrupted = false;   // by the user
  std::optional<BootTime> started{};
  std::optional<BootTime> ended{};
  std::optional<End> end{};
  Progress progress{};  // reported by its supervisor, while it runs

  [[nodiscard]] bool over() const { return end.has_value(); }
  // Returns "preparing", "running" or an outcome.
  [[nodiscard]] std::string state() const {
    if (end) return end->outcome;
    return stage == Stage::kRunning ? "running" : "preparing";
  }
};

}  // namespace corral::run::schedule
