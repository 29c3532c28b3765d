#include <algorithm>

#include "store/ingest/ingest.h"

namespace corral::store::sql {

Result<std::shared_ptr<SessionState>> Ingest::open_session(Call& call, const codec::Frame& frame,
                                                           const codec::SessionBody& body) {
  const UtcTime started = body.anchor.to_utc(body.started);
  const RunRow run = TRY(run_of(call, body, started));
  auto state = std::make_shared<SessionState>();
  state->id = frame.header.session;
  state->run_id = body.run;
  state->run = run.key;
  state->workload = run.workload;
  state->removed = run.removed;
  state->anchor = body.anchor;
  if (!run.removed) state->machine = TRY(host_of(body));
  if (body.role == "supervisor" && !run.removed) TRY(supervise(call, body, started, *state));
  const auto key = TRY(db_.number(
      "INSERT INTO sessions (id, run, workload, durable_seq, utc_minus_boot, clock_error, started, "
      "role, host, pid, rank, boot_id, removed, machine) "
      "VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) "
      "ON CONFLICT (id) DO NOTHING RETURNING key",
      frame.header.session, run.key, run.workload, body.anchor.utc_minus_boot.count(),
      body.anchor.error.count(), started, body.role, body.host, body.pid, body.rank, body.boot_id,
      run.removed ? 1 : 0, state->machine));
  if (!key) return lost_race();
  state->key = *key;
  return state;
}

Result<std::int64_t> Ingest::experiment_of(const std::string& name, UtcTime created) {
  if (const auto known = TRY(db_.number("SELECT id FROM experiments WHERE name = ?1", name)))
    return *known;
  const auto made =
      TRY(db_.number("INSERT INTO experiments (name, created) VALUES (?1, ?2) ON CONFLICT (name) "
                     "DO NOTHING RETURNING id",
                     name, created));
  if (!made) return lost_race();
  return *made;
}

Result<std::int64_t> Ingest::workload_of(const codec::SessionBody& body, std::int64_t experiment,
                                         UtcTime created) {
  if (const auto known =
          TRY(db_.number("SELECT key FROM workloads WHERE id = ?1", body.workload))) {
    TRY(db_.exec("UPDATE workloads SET created = ?2 WHERE key = ?1 AND created > ?2", *known,
                 created));
    return *known;
  }
  const auto made =
      TRY(db_.number("INSERT INTO workloads (id, experiment, name, created) VALUES (?1, ?2, ?3, "
                     "?4) ON CONFLICT (id) DO NOTHING RETURNING key",
                     body.workload, experiment, body.workload_name, created));
  if (!made) return lost_race();
  return *made;
}

// Finds or makes the host by machine and name. If other processes write too, the row is locked: a
// removal of the host sees this session, or this session makes the host anew.
Result<std::optional<std::int64_t>> Ingest::host_of(const codec::SessionBody& body) {
  if (body.machine.empty()) return std::nullopt;
  const auto known = TRY(db_.number("SELECT key FROM hosts WHERE machine_id = ?1 AND name = ?2" +
                                        std::string(db_.dialect().lock_row),
                                    body.machine, body.host));
  if (known) {
    TRY(db_.exec("UPDATE hosts SET idle_since = NULL WHERE key = ?1 AND idle_since IS NOT NULL",
                 *known));
    return *known;
  }
  const auto made =
      TRY(db_.number("INSERT INTO hosts (name, machine_id) VALUES (?1, ?2) "
                     "ON CONFLICT (machine_id, name) DO NOTHING RETURNING key",
                     body.host, body.machine));
  if (!made) return lost_race();
  return *made;
}

// A removed run stays removed, also when a session joins it later. If other processes write too,
// the row is locked: a concurrent removal sees this session, or this session sees the removal.
Result<std::optional<Ingest::RunRow>> Ingest::known_run(RunId id) {
  {
    Statement row = TRY(db_.query(
        "SELECT key, workload FROM runs WHERE id = ?1" + std::string(db_.dialect().lock_row), id));
    if (TRY(row.step())) return RunRow{.key = row.integer(0), .workload = row.integer(1)};
  }
  Statement row = TRY(db_.query("SELECT key, workload FROM removed_runs WHERE id = ?1", id));
  if (!TRY(row.step())) return std::nullopt;
  return RunRow{.key = row.integer(0), .workload = row.integer(1), .removed = true};
}

// The run's row; the first session of a run makes it, whatever its role. A run stays in the
// workload of its first session.
Result<Ingest::RunRow> Ingest::run_of(Call& call, const codec::SessionBody& body, UtcTime started) {
  if (const auto known = TRY(known_run(body.run))) return *known;
  const std::int64_t experiment = TRY(experiment_of(body.experiment, started));
  const std::int64_t workload = TRY(workload_of(body, experiment, started));
  const auto key = TRY(db_.number(
      "INSERT INTO runs (id, name, experiment, workload, status, supervised, started, newest, "
      "host) "
      "VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?6, ?7) ON CONFLICT (id) DO NOTHING RETURNING key",
      body.run, body.run_name, experiment, workload, RunStatus::kRunning, started, body.host));
  if (!key) return lost_race();
  call.changed_runs.insert(body.run);
  return RunRow{.key = *key, .workload = workload};
}

// The first supervisor sets the start of the run. A later one has adopted the run, which counts as
// running again if its end is unknown.
Result<> Ingest::supervise(Call& call, const codec::SessionBody& body, UtcTime started,
                           const SessionState& session) {
  const std::int64_t run = session.run;
  TRY(
      db_.exec("UPDATE runs SET supervised = 1, started = ?2, host = ?3, machine = ?4, newest = "
               "greatest(newest, ?2) WHERE key = ?1 AND supervised = 0",
               run, started, body.host, session.machine));
  TRY(db_.exec("UPDATE runs SET name = ?2 WHERE key = ?1 AND name = ''", run, body.run_name));
  TRY(
      db_.exec("UPDATE runs SET status = ?2, ended = NULL, end_reason = NULL, exit_code = NULL, "
               "exit_signal = NULL "
               "WHERE key = ?1 AND end_reason = ?3",
               run, RunStatus::kRunning, codec::EndReason::kUnknown));
  call.changed_runs.insert(body.run);
  return {};
}

// Until then the start is that of the run's first session.
Result<> Ingest::begin_run(Call& call, const SessionState& session, UtcTime at) {
  call.changed_runs.insert(session.run_id);
  return db_.defer("UPDATE runs SET started = ?2, newest = greatest(newest, ?2) WHERE key = ?1",
                   session.run, at);
}

}  // namespace corral::store::sql
