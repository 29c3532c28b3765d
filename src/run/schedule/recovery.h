// What became of a run whose scheduler is gone: told from what its supervisor left behind.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collocate/journal.h"
#include "run/schedule/book.h"
#include "sys/process.h"

namespace corral::run::schedule {

struct Remains {
  enum class Kind {
    kEnded,       // `end`
    kSupervised,  // by `supervisor`; `started` unless it is about to give up
    kOrphaned,    // its command lives, its supervisor does not
    kNotStarted,
  };
  Kind kind = Kind::kNotStarted;
  End end{};
  std::optional<sys::ProcessIdentity> supervisor{};
  bool started = true;
  bool own_fault = true;  // kEnded: of a run that did not start, not its scheduler's
};

struct RecoveryPlaces {
  std::vector<std::filesystem::path> spool_roots;
  std::filesystem::path last_words;
};
// The run's command, while it lives.
std::optional<sys::ProcessIdentity> command_of(const std::string& run,
                                               const RecoveryPlaces& places);
// The commands of a plan's runs that still run, whoever supervises them; for UndoOptions.
std::vector<sys::ProcessIdentity> commands_of(const collocate::JournalOwner& owner);
// Who runs the plan now, "process 7 on host, since ..."; empty: nobody. For UndoOptions.
std::string scheduler_of(const collocate::JournalOwner& owner);
Remains remains_of(const Attempt& attempt, const RecoveryPlaces& places);

}  // namespace corral::run::schedule
