// Recovery: finds the state of a run whose scheduler is gone, from the files of its supervisor.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collocate/journal/journal.h"
#include "run/schedule/book.h"
#include "sys/process.h"

namespace corral::run::schedule {

struct Remains {
  enum class Kind {
    kEnded,       // `end`
    kSupervised,  // by `supervisor`; `started` unless it is about to give up
    kOrphaned,    // its command lives without a supervisor
    kNotStarted,
  };
  Kind kind = Kind::kNotStarted;
  End end{};
  std::optional<sys::ProcessIdentity> supervisor{};
  bool started = true;
  bool own_fault = true;  // kEnded: false if the run did not start because of its scheduler
};

struct RecoveryPlaces {
  std::vector<std::filesystem::path> spool_roots;
  std::filesystem::path last_words;
};
// Returns the run's command, while it lives.
std::optional<sys::ProcessIdentity> command_of(const std::string& run,
                                               const RecoveryPlaces& places);
// Returns the live commands of a plan's runs, with and without a supervisor; for UndoOptions.
std::vector<sys::ProcessIdentity> commands_of(const collocate::JournalOwner& owner);
// Returns the present scheduler of the plan, "process 7 on host, since ..."; empty: none. For
// UndoOptions.
std::string scheduler_of(const collocate::JournalOwner& owner);
Remains remains_of(const Attempt& attempt, const RecoveryPlaces& places);

}  // namespace corral::run::schedule
