// Facts that an MLflow client sent through the relay of its supervisor (compat/mlflow/relay/) and
// that change the run's row.
#include "core/json.h"
#include "store/ingest/ingest.h"
#include "sys/clock.h"

namespace corral::store::sql {
namespace {

// MLflow's numbers.
constexpr std::int64_t kClientScheduled = 2;
constexpr std::int64_t kClientFinished = 3;
constexpr std::int64_t kClientFailed = 4;
constexpr std::int64_t kClientKilled = 5;

RunStatus stored_status(std::int64_t client) {
  if (client == kClientFinished) return RunStatus::kFinished;
  return client == kClientFailed ? RunStatus::kFailed : RunStatus::kStopped;
}

}  // namespace

Result<bool> Ingest::client_says(const SessionState& session, const codec::Fact& fact) {
  if (fact.kind == codec::FactKind::kTag && fact.key == "mlflow.runName") {
    TRY(db_.defer("UPDATE runs SET name = ?2 WHERE key = ?1", session.run, fact.value));
    return false;  // it is a tag, too
  }
  if (fact.kind == codec::FactKind::kInfo && fact.key == "mlflow.delete-tag") {
    TRY(db_.defer("DELETE FROM facts WHERE run = ?1 AND kind = ?2 AND key = ?3", session.run,
                  codec::FactKind::kTag, fact.value));
    return true;
  }
  if (fact.kind != codec::FactKind::kInfo || fact.key != "mlflow.update") return false;
  const auto json = Json::parse(fact.value);
  if (!json) return true;
  if (const std::string name = json->get_string("name"); !name.empty())
    TRY(db_.defer("UPDATE runs SET name = ?2 WHERE key = ?1", session.run, name));
  if (const std::string user = json->get_string("user"); !user.empty())
    TRY(db_.defer("UPDATE runs SET user_id = ?2 WHERE key = ?1", session.run, user));
  if (const std::string name = json->get_string("experiment"); !name.empty())
    TRY(move_run(session.run, name));
  TRY(client_status(session.run, json->get_int("status"), json->get_int("end_ms")));
  return true;
}

// The workload of the run moves with it, unless it has other runs, too.
Result<> Ingest::move_run(std::int64_t run, const std::string& experiment) {
  const std::int64_t id = TRY(experiment_of(experiment, sys::utc_now()));
  TRY(
      db_.defer("UPDATE workloads SET experiment = ?2 WHERE key = (SELECT workload FROM runs WHERE "
                "key = ?1) AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.workload = workloads.key "
                "AND o.key <> ?1)",
                run, id));
  return db_.defer("UPDATE runs SET experiment = ?2 WHERE key = ?1", run, id);
}

// The status and end of a supervised run come from its supervisor; the client's view is stored
// separately. A client's "running" from before the end says nothing about the end.
Result<> Ingest::client_status(std::int64_t run, std::int64_t status, std::int64_t end_ms) {
  if (status <= 0 || status > kClientKilled) return {};
  if (status <= kClientScheduled) {
    TRY(
        db_.defer("UPDATE runs SET client_status = ?2, client_end = NULL WHERE key = ?1 AND "
                  "(supervised = 0 OR status = ?3)",
                  run, status, RunStatus::kRunning));
    return db_.defer(
        "UPDATE runs SET status = ?2, ended = NULL, end_reason = NULL WHERE key = ?1 AND "
        "supervised = 0",
        run, RunStatus::kRunning);
  }
  const UtcTime end = end_ms != 0 ? utc_time(end_ms * 1'000'000) : sys::utc_now();
  TRY(db_.defer("UPDATE runs SET client_status = ?2, client_end = ?3 WHERE key = ?1", run, status,
                end));
  return db_.defer("UPDATE runs SET status = ?2, ended = ?3 WHERE key = ?1 AND supervised = 0", run,
                   stored_status(status), end);
}

}  // namespace corral::store::sql
