// Recovery: finds the state of a run whose scheduler is gone, from the files of its supervisor,
// else from the server.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collocate/journal/journal.h"
#include "core/time.h"
#include "run/schedule/book.h"
#include "sys/process.h"
#include "upload/server_link.h"

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

struct RecoveryPaths {
  std::vector<std::filesystem::path> spool_roots;
  std::filesystem::path last_words;
};
// Returns the run's command, while it lives.
std::optional<sys::ProcessIdentity> find_command(const std::string& run,
                                                 const RecoveryPaths& places);
// Returns the live commands of a plan's runs, with and without a supervisor; for UndoOptions.
std::vector<sys::ProcessIdentity> commands_of(const collocate::JournalOwner& owner);
// Returns the present scheduler of the plan, "process 7 on host, since ..."; empty: none. For
// UndoOptions.
std::string scheduler_of(const collocate::JournalOwner& owner);
Remains find_remains(const Attempt& attempt, const RecoveryPaths& places);

// RecordedEnds: asks the server for the end of a run of which nothing is left on this machine.
class RecordedEnds {
 public:
  explicit RecordedEnds(upload::LinkOptions link) : link_(std::move(link)) {}
  // Returns the end of a run. While the server reports that the run goes on, it may still read the
  // run's spool; the question is repeated for a moment. Nullopt: the server is unreachable, or does
  // not know the end.
  std::optional<End> find(const std::string& run);

 private:
  upload::ServerLink link_;
  Nanos patience_{std::chrono::seconds(5)};  // for all runs together
};

// Returns the end in an answer to GET /runs/{id}; nullopt: the run goes on, or its end is unknown.
std::optional<End> parse_recorded_end(const Json& run);

}  // namespace corral::run::schedule
