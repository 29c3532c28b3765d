// RunBook: the runs that a program of this run speaks of, and which of them is which.
//
// The first run that the program starts is the Corral run itself, and so is the first of each rank
// of a distributed training. Every further one is made here, without asking anyone: a run of its
// own in the same workload, so that it has the same hardware series, and below the Corral run
// unless the program says below which. Runs of other days are known once the server has shown them.
// A book that is opened for a run whose supervisor was killed goes on where that one's ended
// (book_log.h). Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compat/mlflow/relay/book_log.h"
#include "compat/mlflow/relay/client_rank.h"
#include "compat/mlflow/relay/tracked_run.h"
#include "core/json.h"
#include "core/mutex.h"
#include "spool/run_directory.h"

namespace corral::run {

struct BookOptions {
  const spool::Manifest& manifest;  // of the Corral run
  bool experiment_chosen = false;   // --experiment: no program moves the run
  bool name_chosen = false;         // --name: no program renames it
  LogRoom room;
};

// What runs/create said.
struct NewRun {
  std::string experiment;       // id
  std::string experiment_name;  // when it is known
  std::string name, user;
  std::int64_t start_ms = 0;
  std::vector<mlflow::Pair> tags;
  std::optional<RankedClient> client;
};

class RunBook {
 public:
  using Shared = std::shared_ptr<TrackedRun>;
  explicit RunBook(BookOptions options);

  [[nodiscard]] const Shared& own() const { return own_; }
  // nullptr: not spoken of yet.
  [[nodiscard]] Shared find(RunId id) const;
  // One that the server knows, in its words ({"info": ..., "data": ...}).
  Shared adopt(RunId id, const Json& run);
  Shared create(const NewRun& run);
  void update(const Shared& run, const RunUpdate& update);
  // The program is gone: the runs that were made here end, the Corral run is its supervisor's.
  void abandon_children();

  // Experiments that programs were told of while there was no server to give them an id.
  void name_experiment(const std::string& id, const std::string& name);
  // Empty: none of those.
  [[nodiscard]] std::string experiment_called(const std::string& id) const;

  // The id of an experiment as programs know the run's, when it differs from the server's: with
  // --experiment they may believe to be elsewhere. Empty: it does not.
  [[nodiscard]] std::string believed_experiment(RunId id) const;
  // A log that lost something: why; empty when none did.
  [[nodiscard]] std::string loss() const;

 private:
  [[nodiscard]] bool is_own(const NewRun& run, std::string_view parent) REQUIRES(mutex_);
  Shared start_own(const NewRun& run) REQUIRES(mutex_);
  Shared make_child(const NewRun& run) REQUIRES(mutex_);
  // With the run itself, as far as experiments go.
  [[nodiscard]] bool is_with_own(const NewRun& run) const REQUIRES(mutex_);
  [[nodiscard]] std::string experiment_of(const NewRun& run) const
      REQUIRES(mutex_);  // name of a child's
  void announce(const NewRun& run, const Shared& child) REQUIRES(mutex_);
  void note_own(const NewRun& run) REQUIRES(mutex_);
  void note_child(const NewRun& run, const RunView& view, const std::string& experiment)
      REQUIRES(mutex_);
  void note_status(RunId child, ClientStatus status) REQUIRES(mutex_);
  void recall(const Json& line) REQUIRES(mutex_);
  void recall_own(const Json& own) REQUIRES(mutex_);
  void recall_child(const Json& child) REQUIRES(mutex_);
  [[nodiscard]] codec::SessionBody session_of(RunId run, const std::string& name,
                                              std::int64_t start_ms) const REQUIRES(mutex_);

  BookOptions options_;
  Shared own_;
  mutable Mutex mutex_;
  std::map<RunId, Shared> runs_ GUARDED_BY(mutex_);  // the own one is among them
  bool own_started_ GUARDED_BY(mutex_) = false;
  std::map<std::int64_t, pid_t> ranks_ GUARDED_BY(mutex_);  // that started the own run
  std::string experiment_name_ GUARDED_BY(mutex_);          // of the own run
  std::string own_wish_ GUARDED_BY(mutex_);  // id that the first program to start it named
  std::map<RunId, std::string> believed_ GUARDED_BY(mutex_);
  std::map<RunId, Shared> children_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> experiments_ GUARDED_BY(mutex_);  // id -> name
  BookLog log_ GUARDED_BY(mutex_);
  // What was asked of the supervisor before: its answer may not have arrived, and a client that
  // did not get it asks again.
  std::map<std::string, Shared> recalled_ GUARDED_BY(mutex_);
};

}  // namespace corral::run
