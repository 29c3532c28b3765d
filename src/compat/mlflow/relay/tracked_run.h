// TrackedRun: one run that a program logs to through the relay: what is known of it here, and its
// log in the spool.
//
// What a program says is checked, written to the spool (kept whatever dies next), remembered, and
// answered. What is remembered serves only as long as no server can be asked: names, params, tags
// and the newest value of each metric. Thread-safe.
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
  std::string user;
  std::string artifact_uri{};  // as the server says; empty: not known here
  ClientStatus status = ClientStatus::kRunning;
  std::int64_t start_ms = 0;
  std::optional<std::int64_t> end_ms;
  std::map<std::string, std::string> params, tags;
  std::map<std::string, mlflow::MetricPoint> metrics;  // newest of each
};
// {"info": ..., "data": ...}, as runs/get has it under "run".
std::string run_json(const RunView& run);
// {"run_id": ..., ...}
std::string info_json(const RunView& run);

struct RunUpdate {
  std::optional<ClientStatus> status;
  std::optional<std::int64_t> end_ms;
  std::string name, user, experiment;  // empty: no news; the experiment by its name
};

// Where logs of a run's directory go, and how much room they have together.
struct LogRoom {
  sys::PrivateDirectory files;
  std::int64_t limit = 0;
};

class TrackedRun {
 public:
  // `session` describes what is written to the spool in this run's name.
  TrackedRun(RunView view, codec::SessionBody session, LogRoom room)
      : view_(std::move(view)), session_(std::move(session)), room_(std::move(room)) {}

  // `source`: which of several processes that share the run logs; empty: the run as a whole.
  mlflow::Answer<> log(const mlflow::LogBatch& batch, const std::string& source);
  void update(const RunUpdate& update);
  // Its programs will say nothing more for now: what is logged later opens another session.
  void rest();
  // Its programs are gone: one that did not say how the run ended will not any more. False: it
  // has ended.
  bool abandon();
  void forget_tag(const std::string& key);
  // The same, and the server is to.
  void delete_tag(const std::string& key);
  void set_experiment_id(std::string id);
  void set_artifact_uri(std::string uri);

  // It was made by a supervisor that is gone, and `status` is what its programs said last: what
  // else they said is on the server, until learn().
  void recall(ClientStatus status, const std::string& name = {});
  [[nodiscard]] bool is_recalled() const;
  // How the server knows the run; its status and experiment stay as programs know them.
  void learn(RunView view);

  [[nodiscard]] RunView view() const;
  [[nodiscard]] std::vector<std::pair<std::string, mlflow::MetricPoint>> newest_metrics() const;
  [[nodiscard]] RunId id() const { return session_.run; }
  // Records of this run that the spool could not take, and why the latest.
  [[nodiscard]] std::uint64_t dropped() const;
  [[nodiscard]] std::string drop_reason() const;

 private:
  [[nodiscard]] mlflow::Answer<> check(const mlflow::LogBatch& batch) const REQUIRES(mutex_);
  std::uint32_t series_of(const std::string& key, const std::string& source,
                          codec::SchemaBody& fresh) REQUIRES(mutex_);
  void remember(const mlflow::LogBatch& batch, bool whole_run) REQUIRES(mutex_);
  bool open_log() REQUIRES(mutex_);
  bool write(const codec::Bundle& bundle) REQUIRES(mutex_);  // false: the spool could not take it
  void write_facts(std::span<const codec::Fact> facts) REQUIRES(mutex_);

  mutable Mutex mutex_;
  RunView view_ GUARDED_BY(mutex_);
  bool recalled_ GUARDED_BY(mutex_) = false;
  const codec::SessionBody session_;
  LogRoom room_ GUARDED_BY(mutex_);
  std::optional<spool::ClientLog> log_ GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, std::uint32_t> series_
      GUARDED_BY(mutex_);  // by source and key
  std::uint32_t last_series_ GUARDED_BY(mutex_) = 0;
  std::uint64_t lost_ GUARDED_BY(mutex_) = 0;  // with logs that could not be opened, or that rest
  std::string lost_reason_ GUARDED_BY(mutex_);
};

}  // namespace corral::run
