// What became of a run whose scheduler is gone: told from what its supervisor left behind.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

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
Remains remains_of(const Attempt& attempt, const RecoveryPlaces& places);

}  // namespace corral::run::schedule
