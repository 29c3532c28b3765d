// RunBook: maps the runs that the programs of a Corral run name to the runs of Corral.
//
// The first run that a program starts is the Corral run itself, and so is the first run of each
// rank of a distributed training. Each further run is made here, without a server: a run of its own
// in the same workload, so that it has the same hardware series, and below the Corral run unless
// the program names another parent. Runs of other days are known once the server has shown them. A
// book of a run whose supervisor was killed continues from its BookLog. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compat/mlflow/relay/client_rank.h"
#include "compat/mlflow/relay/tracked_run.h"
#include "core/json.h"
#include "core/mutex.h"
#include "spool/run_directory.h"
#include "sys/fd.h"

namespace corral::run {

struct BookOptions {
  const spool::Manifest& manifest;  // the Corral run's
  bool experiment_chosen = false;   // --experiment was given: programs cannot move the run
  bool name_chosen = false;         // --name was given: programs cannot rename it
  LogRoom room;
};

// The contents of a runs/create request.
struct NewRun {
  std::string experiment;       // id
  std::string experiment_name;  // empty: not known
  std::string name, user;
  std::int64_t start_ms = 0;
  std::vector<mlflow::Pair> tags;
  std::optional<RankedClient> client;
};

// The part of a RunBook that must survive its supervisor, kept beside the runs' logs. The process
// that takes the run over continues with the same book.
//
//   <run>/mlflow/book   JSON objects, one a line
//
// The reader skips a line that was cut short by a kill or a full disk. One thread at a time.
class BookLog {
 public:
  explicit BookLog(sys::PrivateDirectory run) : run_(std::move(run)) {}

  // Returns all lines, including those of earlier processes, oldest first.
  [[nodiscard]] std::vector<Json> lines() const;
  // One small write(2). If it fails, only a successor misses the line.
  void add(const Json& line);

 private:
  sys::PrivateDirectory run_;
  sys::Fd file_;
};

class RunBook {
 public:
  using Shared = std::shared_ptr<TrackedRun>;
  explicit RunBook(BookOptions options);

  [[nodiscard]] const Shared& own() const { return own_; }
  // Returns nullptr for a run that no program has named yet.
  [[nodiscard]] Shared find(RunId id) const;
  // Adds a run that the server knows; `run` is its answer ({"info": ..., "data": ...}).
  Shared adopt(RunId id, const Json& run);
  Shared create(const NewRun& run);
  void update(const Shared& run, const RunUpdate& update);
  // Call when the program is gone: ends the runs that were made here. The supervisor ends its own.
  void abandon_children();

  // Records an experiment whose id was made up here because there was no server.
  void name_experiment(const std::string& id, const std::string& name);
  // Returns its name; empty: no such experiment.
  [[nodiscard]] std::string experiment_called(const std::string& id) const;

  // Returns the id that programs know as the run's experiment if it differs from the server's, as
  // it may with --experiment; else empty.
  [[nodiscard]] std::string believed_experiment(RunId id) const;
  // The own run's experiment: the id that programs take it for, and its name in the store.
  struct Place {
    std::string requested, name;
  };
  [[nodiscard]] Place own_experiment() const;
  // Returns why a log dropped records; empty when none did.
  [[nodiscard]] std::string loss() const;

 private:
  [[nodiscard]] bool is_own(const NewRun& run, std::string_view parent) REQUIRES(mutex_);
  Shared start_own(const NewRun& run) REQUIRES(mutex_);
  Shared make_child(const NewRun& run) REQUIRES(mutex_);
  // Returns true when the child belongs to the experiment of the own run.
  [[nodiscard]] bool is_with_own(const NewRun& run) const REQUIRES(mutex_);
  // Returns the name of a child's experiment.
  [[nodiscard]] std::string child_experiment(const NewRun& run) const REQUIRES(mutex_);
  void announce(const NewRun& run, const Shared& child) REQUIRES(mutex_);
  void note_own(const NewRun& run) REQUIRES(mutex_);
  void note_child(const NewRun& run, const RunView& view, const std::string& experiment)
      REQUIRES(mutex_);
  void note_status(RunId child, ClientStatus status) REQUIRES(mutex_);
  void recall(const Json& line) REQUIRES(mutex_);
  void recall_own(const Json& own) REQUIRES(mutex_);
  void recall_child(const Json& child) REQUIRES(mutex_);
  [[nodiscard]] codec::SessionBody make_session(RunId run, const std::string& name,
                                                std::int64_t start_ms) const REQUIRES(mutex_);

  // Constant after construction.
  const BookOptions options_;
  Shared own_;

  // A run's own mutex may be locked while this one is held, never the other way round.
  mutable Mutex mutex_;
  // Guarded by mutex_.
  std::map<RunId, Shared> runs_ GUARDED_BY(mutex_);  // includes the own run
  bool own_started_ GUARDED_BY(mutex_) = false;
  std::map<std::int64_t, pid_t> ranks_ GUARDED_BY(mutex_);  // ranks that started the own run
  std::string experiment_name_ GUARDED_BY(mutex_);          // the own run's experiment
  // The experiment id that the first program named when it started the own run.
  std::string own_requested_ GUARDED_BY(mutex_);
  std::map<RunId, std::string> believed_ GUARDED_BY(mutex_);
  std::map<RunId, Shared> children_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> experiments_ GUARDED_BY(mutex_);  // names by id
  BookLog log_ GUARDED_BY(mutex_);
  // Runs by the request that created them at an earlier supervisor. A client that did not get its
  // answer sends the request again.
  std::map<std::string, Shared> recalled_ GUARDED_BY(mutex_);
};

}  // namespace corral::run
