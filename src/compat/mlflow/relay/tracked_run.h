// TrackedRun: one run that a program logs to through the relay: its known state, and its log in the
// spool.
//
// Each request is checked, written to the spool (so that it survives the death of any process),
// remembered, and answered. The remembered state, names, params, tags and the newest value of each
// metric, is used only while no server answers. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compat/mlflow/wire/error.h"
#include "compat/mlflow/wire/log_batch.h"
#include "core/ids.h"
#include "core/mutex.h"
#include "spool/client_log.h"

namespace corral::run {

// The numbers of MLflow's enum.
enum class ClientStatus : std::uint8_t {
  kRunning = 1,
  kScheduled = 2,
  kFinished = 3,
  kFailed = 4,
  kKilled = 5
};

struct RunView {
  RunId id;
  std::string name;
  std::string experiment;  // id as clients know it
  std::string user{};
  std::string artifact_uri{};  // the server's value; empty: not known here
  ClientStatus status = ClientStatus::kRunning;
  std::int64_t start_ms = 0;
  std::optional<std::int64_t> end_ms{};
  std::map<std::string, std::string> params{}, tags{};
  std::map<std::string, mlflow::MetricPoint> metrics{};  // newest of each
};
// {"info": ..., "data": ...}, as runs/get has it under "run".
std::string run_json(const RunView& run);
// {"run_id": ..., ...}
std::string info_json(const RunView& run);

struct RunUpdate {
  std::optional<ClientStatus> status{};
  std::optional<std::int64_t> end_ms{};
  std::string name{}, user{}, experiment{};  // empty: no news; the experiment by its name
};

// The directory of a run's logs, and their total limit in bytes.
struct LogRoom {
  sys::PrivateDirectory files;
  std::int64_t limit = 0;
};

class TrackedRun {
 public:
  // `session` describes the data that is written to the spool in this run's name.
  TrackedRun(RunView view, codec::SessionBody session, LogRoom room)
      : session_(std::move(session)), room_(std::move(room)), view_(std::move(view)) {}

  // `source` names the logging process if several share the run; empty: the run as a whole.
  mlflow::Answer<> log(const mlflow::LogBatch& batch, const std::string& source);
  void update(const RunUpdate& update);
  // Closes the log for now; a later call to log() opens another session.
  void rest();
  // Call when the run's programs are gone: marks a run without an end as killed. Returns false when
  // the run had already ended.
  bool abandon();
  void forget_tag(const std::string& key);
  // The same, and asks the server to delete the tag.
  void delete_tag(const std::string& key);
  void set_experiment_id(std::string id);
  void set_artifact_uri(std::string uri);

  // Restores a run of an earlier supervisor with the last status that its programs reported. Its
  // other state is unknown here until learn() gets it from the server.
  void recall(ClientStatus status, const std::string& name = {});
  [[nodiscard]] bool is_recalled() const;
  // Takes the server's view of the run, except for status and experiment.
  void learn(RunView view);

  [[nodiscard]] RunView view() const;
  [[nodiscard]] std::vector<std::pair<std::string, mlflow::MetricPoint>> newest_metrics() const;
  [[nodiscard]] RunId id() const { return session_.run; }
  // Returns the number of records that the spool could not take, and the reason of the latest.
  [[nodiscard]] std::uint64_t dropped() const;
  [[nodiscard]] std::string drop_reason() const;

 private:
  [[nodiscard]] mlflow::Answer<> check(const mlflow::LogBatch& batch) const REQUIRES(mutex_);
  std::uint32_t find_series(const std::string& key, const std::string& source,
                            codec::SchemaBody& fresh) REQUIRES(mutex_);
  void remember(const mlflow::LogBatch& batch, bool whole_run) REQUIRES(mutex_);
  bool open_log() REQUIRES(mutex_);
  // Returns false when the spool could not take the bundle.
  bool write(const codec::Bundle& bundle) REQUIRES(mutex_);
  void write_facts(std::span<const codec::Fact> facts) REQUIRES(mutex_);

  // Constant after construction.
  const codec::SessionBody session_;
  const LogRoom room_;

  mutable Mutex mutex_;
  // Guarded by mutex_.
  RunView view_ GUARDED_BY(mutex_);
  bool recalled_ GUARDED_BY(mutex_) = false;
  std::optional<spool::ClientLog> log_ GUARDED_BY(mutex_);
  // The ids of series by source and key.
  std::map<std::pair<std::string, std::string>, std::uint32_t> series_ GUARDED_BY(mutex_);
  std::uint32_t last_series_ GUARDED_BY(mutex_) = 0;
  // Records dropped by logs that are closed or could not be opened.
  std::uint64_t lost_ GUARDED_BY(mutex_) = 0;
  std::string lost_reason_ GUARDED_BY(mutex_);
};

}  // namespace corral::run
