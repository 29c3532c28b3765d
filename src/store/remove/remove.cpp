#include "store/remove/remove.h"

#include <fmt/core.h>

#include <array>
#include <map>
#include <set>

#include "core/failpoint.h"
#include "metric/catalogue.h"
#include "store/engine/stored.h"
#include "store/model/statistics.h"
#include "sys/clock.h"

namespace corral::store::sql {
namespace {

constexpr auto kRunOwner = static_cast<std::int64_t>(metric::Owner::kRun);
constexpr auto kWorkloadOwner = static_cast<std::int64_t>(metric::Owner::kWorkload);
constexpr auto kHostOwner = static_cast<std::int64_t>(metric::Owner::kHost);
// The series of a host that no run refers to are kept for so long.
constexpr Nanos kHostsKept = std::chrono::days(30);

struct Owner {
  std::int64_t kind = kRunOwner;
  std::int64_t key = 0;  // key of a run, a workload or a host
};

// ---- marking
struct RunRow {
  std::int64_t key = 0;
  std::int64_t workload = 0;
  std::int64_t experiment = 0;
  RunStatus status = RunStatus::kRunning;
  std::string name;
  std::string artifacts;  // empty: at the usual place
};

Result<std::optional<RunRow>> lock_run(Connection& db, RunId id) {
  const std::string lock(db.dialect().lock_row);
  // Sessions before the run, as ingest does; one that is made meanwhile is locked by its maker.
  TRY(
      db.exec("SELECT key FROM sessions WHERE run = (SELECT key FROM runs WHERE id = ?1) "
              "ORDER BY id" +
                  lock,
              id));
  Statement row = TRY(db.query(
      "SELECT key, workload, experiment, status, name, artifact_uri FROM runs WHERE id = ?1" + lock,
      id));
  if (!TRY(row.step())) return std::nullopt;
  return RunRow{.key = row.integer(0),
                .workload = row.integer(1),
                .experiment = row.integer(2),
                .status = static_cast<RunStatus>(row.integer(3)),
                .name = row.text(4),
                .artifacts = row.text(5)};
}

// ---- artifacts
Result<std::string> location_of(Connection& db, ExperimentId id) {
  Statement row = TRY(db.query("SELECT artifact_location FROM experiments WHERE id = ?1", id));
  std::string location = TRY(row.step()) ? row.text(0) : std::string();
  return location.empty() ? default_artifact_location(id) : location;
}

Result<> note_artifacts(Connection& db, const std::string& location) {
  return db.exec("INSERT INTO removed_artifacts (location) VALUES (?1)", location);
}

// If the directory is the run's own, all of it is removed.
Result<> note_artifacts_of_run(Connection& db, RunId id, const RunRow& run) {
  constexpr std::string_view kFiles = "/artifacts";
  std::string place = run.artifacts;
  if (place.empty())
    place = fmt::format("{}/{}{}", TRY(location_of(db, ExperimentId{run.experiment})), id.hex(),
                        kFiles);
  if (place.ends_with(fmt::format("/{}{}", id.hex(), kFiles)))
    place.resize(place.size() - kFiles.size());
  return note_artifacts(db, place);
}

// Rows that go with an experiment's row.
Result<> note_artifacts_of_experiment(Connection& db, ExperimentId id) {
  TRY(
      db.exec("INSERT INTO removed_artifacts (location) SELECT artifact_uri FROM logged_models "
              "WHERE experiment = ?1 AND artifact_uri <> ''",
              id));
  return db.exec(
      "INSERT INTO removed_artifacts (location) SELECT CAST(?2 AS TEXT) || '/traces/' || id FROM "
      "traces WHERE experiment = ?1",
      id, TRY(location_of(db, id)));
}

Result<> mark(Connection& db, const Owner& owner, std::int64_t workload) {
  return db.exec("INSERT INTO removals (owner_kind, owner, workload) VALUES (?1, ?2, ?3)",
                 owner.kind, owner.key, workload);
}

// ---- cleaning
// Sessions whose data is deleted. A run's: all except those that fed its workload's series while
// the workload has other runs. A workload's: all, because it is removed with its last run. If a
// session fed a host's series, its slices with such series stay, and its other rows stay until
// their points have risen from batch rows. A host's: all.
constexpr std::array<std::string_view, 3> kSessions = {
    "SELECT s.key FROM sessions s WHERE s.run = ?1 AND s.key NOT IN (SELECT m.session FROM "
    "removals "
    "d JOIN workloads w ON w.key = d.workload JOIN series x ON x.owner_kind = 1 AND x.owner = "
    "w.key "
    "JOIN session_series m ON m.series = x.id WHERE d.owner_kind = 0 AND d.owner = ?1)",
    "SELECT s.key FROM sessions s WHERE s.workload = ?1",
    "SELECT s.key FROM sessions s WHERE s.machine = ?1 AND s.removed <> 0"};
// Series of hosts that stay, by the session of a row.
constexpr std::array<std::string_view, 3> kFeeds = {
    "SELECT 1 FROM session_series m JOIN series x ON x.id = m.series WHERE x.owner_kind = 2 AND "
    "m.session = ",
    "SELECT 1 FROM session_series m JOIN series x ON x.id = m.series WHERE x.owner_kind = 2 AND "
    "m.session = ",
    "SELECT 1 FROM session_series m JOIN series x ON x.id = m.series WHERE x.owner_kind = 2 AND "
    "x.owner <> ?1 AND m.session = "};
// The next few series of the owner. Their rows stay until all their data is deleted.
constexpr std::array<std::string_view, 3> kSeries = {
    "SELECT id FROM series WHERE owner_kind = 0 AND owner = ?1 ORDER BY id LIMIT 16",
    "SELECT id FROM series WHERE owner_kind = 1 AND owner = ?1 ORDER BY id LIMIT 16",
    "SELECT id FROM series WHERE owner_kind = 2 AND owner = ?1 ORDER BY id LIMIT 16"};

// One kind of rows: ?1 is the owner, ?2 how many at a time. {sessions}, {series} and {feeds} stand
// for the queries above. RETURNING counts the rows.
struct Step {
  std::string_view sql;
  std::int64_t rows = 0;  // at a time: of large ones few
};
constexpr std::array<Step, 4> kSessionSteps = {
    {{"DELETE FROM batches WHERE id IN (SELECT b.id FROM batches b WHERE b.session IN ({sessions}) "
      "AND NOT EXISTS ({feeds}b.session) LIMIT ?2) RETURNING 1",
      32},
     {"DELETE FROM row_groups WHERE id IN (SELECT g.id FROM row_groups g WHERE g.session IN "
      "({sessions}) AND NOT EXISTS ({feeds}g.session AND m.slice = g.slice) LIMIT ?2) RETURNING 1",
      16},
     {"DELETE FROM slices WHERE (session, slice) IN (SELECT l.session, l.slice FROM slices l WHERE "
      "l.session IN ({sessions}) AND NOT EXISTS ({feeds}l.session AND m.slice = l.slice) LIMIT ?2) "
      "RETURNING 1",
      64},
     {"DELETE FROM block_times WHERE id IN (SELECT t.id FROM block_times t WHERE t.session IN "
      "({sessions}) AND NOT EXISTS ({feeds}t.session) LIMIT ?2) RETURNING 1",
      64}}};
constexpr std::array<Step, 4> kSeriesSteps = {
    {{"DELETE FROM blocks WHERE (series, no) IN (SELECT series, no FROM blocks WHERE series IN "
      "({series}) LIMIT ?2) RETURNING 1",
      64},
     {"DELETE FROM pyramid WHERE (series, channel, tier, no) IN (SELECT series, channel, tier, no "
      "FROM pyramid WHERE series IN ({series}) LIMIT ?2) RETURNING 1",
      64},
     {"DELETE FROM session_series WHERE (session, local) IN (SELECT session, local FROM "
      "session_series WHERE series IN ({series}) LIMIT ?2) RETURNING 1",
      256},
     {"DELETE FROM series WHERE id IN (SELECT id FROM ({series}) few LIMIT ?2) RETURNING 1", 16}}};
constexpr std::array<Step, 8> kRunSteps = {
    {{"DELETE FROM notes WHERE id IN (SELECT id FROM notes WHERE run = ?1 LIMIT ?2) RETURNING 1",
      64},
     {"DELETE FROM run_inputs WHERE (run, dataset) IN (SELECT run, dataset FROM run_inputs WHERE "
      "run = ?1 LIMIT ?2) RETURNING 1",
      256},
     {"DELETE FROM run_models WHERE (run, direction, model) IN (SELECT run, direction, model FROM "
      "run_models WHERE run = ?1 LIMIT ?2) RETURNING 1",
      256},
     {"DELETE FROM phases WHERE (session, id) IN (SELECT session, id FROM phases WHERE run = ?1 "
      "LIMIT ?2) RETURNING 1",
      256},
     {"DELETE FROM events WHERE id IN (SELECT id FROM events WHERE run = ?1 LIMIT ?2) RETURNING 1",
      256},
     {"DELETE FROM logs WHERE id IN (SELECT id FROM logs WHERE run = ?1 LIMIT ?2) RETURNING 1", 16},
     {"DELETE FROM log_streams WHERE (run, stream) IN (SELECT run, stream FROM log_streams WHERE "
      "run = ?1 LIMIT ?2) RETURNING 1",
      16},
     {"DELETE FROM facts WHERE (run, kind, key) IN (SELECT run, kind, key FROM facts WHERE run = "
      "?1 LIMIT ?2) RETURNING 1",
      256}}};

std::string sql_of(const Step& step, const Owner& owner) {
  std::string sql(step.sql);
  const auto kind = static_cast<std::size_t>(owner.kind);
  for (const auto& [word, query] :
       {std::pair("{sessions}", kSessions.at(kind)), std::pair("{series}", kSeries.at(kind)),
        std::pair("{feeds}", kFeeds.at(kind))}) {
    if (const auto at = sql.find(word); at != std::string::npos)
      sql.replace(at, std::string_view(word).size(), query);
  }
  return sql;
}

class Cleaning {
 public:
  Cleaning(Connection& db, const Owner& owner, BootTime until)
      : db_(db), owner_(owner), until_(until) {}

  // Every kind of rows in turn; when nothing was found in a whole round, the owner is clean. (While
  // other servers seal, a level may get rows from the one below it after its turn.)
  Result<> round() {
    TRY(all(kSessionSteps));
    TRY(series());
    if (owner_.kind == kRunOwner) TRY(all(kRunSteps));
    if (gone_ > 0) return {};
    clean_ = true;
    return db_.exec("DELETE FROM removals WHERE owner_kind = ?1 AND owner = ?2", owner_.kind,
                    owner_.key);
  }
  [[nodiscard]] bool clean() const { return clean_; }

 private:
  // False until a row was deleted, so that every round makes progress, however slow the database
  // is.
  [[nodiscard]] bool late() const { return gone_ > 0 && sys::boot_now() >= until_; }

  // Returns the number of deleted rows.
  Result<std::int64_t> one(const Step& step) {
    Statement row = TRY(db_.query(sql_of(step, owner_), owner_.key, step.rows));
    std::int64_t count = 0;
    while (TRY(row.step())) ++count;
    failpoint::reach("remove.step");
    gone_ += count;
    return count;
  }
  Result<> all(std::span<const Step> steps) {
    for (const Step& step : steps) {
      while (!late() && TRY(one(step)) > 0) {
      }
    }
    return {};
  }
  Result<> series() {
    std::int64_t before = 0;
    do {
      before = gone_;
      TRY(all(std::span(kSeriesSteps).first(kSeriesSteps.size() - 1)));
      // Once: after it the query gives the next few, of which everything is still there.
      if (!late()) TRY(one(kSeriesSteps.back()));
    } while (gone_ > before && !late());
    return {};
  }

  Connection& db_;
  const Owner owner_;
  const BootTime until_;
  std::int64_t gone_ = 0;
  bool clean_ = false;
};

// Marks hosts that no run has referred to for long; of the others, notes since when.
Result<> mark_idle_hosts(Connection& db) {
  const UtcTime now = sys::utc_now();
  TRY(
      db.exec("UPDATE hosts SET idle_since = ?1 WHERE idle_since IS NULL AND NOT EXISTS (SELECT 1 "
              "FROM runs r WHERE r.machine = hosts.key)",
              now));
  std::vector<std::int64_t> gone;
  {
    Statement row =
        TRY(db.query("DELETE FROM hosts WHERE idle_since < ?1 AND NOT EXISTS (SELECT 1 FROM runs r "
                     "WHERE r.machine = hosts.key) RETURNING key",
                     now - kHostsKept));
    while (TRY(row.step())) gone.push_back(row.integer(0));
  }
  for (const std::int64_t key : gone) TRY(mark(db, {.kind = kHostOwner, .key = key}, 0));
  return {};
}

Result<std::optional<Owner>> next_owner(Connection& db) {
  Statement row =
      TRY(db.query("SELECT owner_kind, owner FROM removals ORDER BY owner_kind, owner "
                   "LIMIT 1" +
                   std::string(db.dialect().lock_row)));
  if (!TRY(row.step())) return std::nullopt;
  return Owner{.kind = row.integer(0), .key = row.integer(1)};
}

}  // namespace

std::string default_artifact_location(ExperimentId id) {
  return fmt::format("mlflow-artifacts:/{}", id.value);
}

tl::unexpected<Error> still_running(const std::string& name, RunId id) {
  return fail(Code::kConflict,
              fmt::format("run {} ({}) is still running: stop it first, or force its removal", name,
                          id.hex()));
}

Result<bool> mark_removed(Connection& db, RunId id, OfRunning running) {
  const auto run = TRY(lock_run(db, id));
  if (!run) return false;
  if (run->status == RunStatus::kRunning) {
    if (running == OfRunning::kRefuse) return still_running(run->name, id);
    if (running == OfRunning::kSkip) return false;
  }
  TRY(db.exec("UPDATE sessions SET removed = 1 WHERE run = ?1", run->key));
  TRY(db.exec("INSERT INTO removed_runs (id, key, workload, removed) VALUES (?1, ?2, ?3, ?4)", id,
              run->key, run->workload, sys::utc_now()));
  TRY(note_artifacts_of_run(db, id, *run));
  TRY(db.exec("DELETE FROM runs WHERE key = ?1", run->key));
  TRY(mark(db, {.kind = kRunOwner, .key = run->key}, run->workload));
  const auto empty =
      TRY(db.number("DELETE FROM workloads WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE "
                    "workload = ?1) RETURNING experiment",
                    run->workload));
  if (empty) {
    TRY(mark(db, {.kind = kWorkloadOwner, .key = run->workload}, run->workload));
    TRY(drop_empty_experiment(db, ExperimentId{*empty}));
  }
  TRY(drop_empty_experiment(db, ExperimentId{run->experiment}));
  failpoint::reach("remove.marked");
  return true;
}

Result<> drop_empty_experiment(Connection& db, ExperimentId id) {
  const auto empty = TRY(
      db.number("SELECT 1 FROM experiments WHERE id = ?1 AND kept = 0 AND NOT EXISTS (SELECT 1 "
                "FROM runs WHERE experiment = ?1) AND NOT EXISTS (SELECT 1 FROM workloads WHERE "
                "experiment = ?1)" +
                    std::string(db.dialect().lock_row),
                id));
  if (!empty) return {};
  TRY(note_artifacts_of_experiment(db, id));
  return db.exec("DELETE FROM experiments WHERE id = ?1", id);
}

Result<> drop_experiment(Connection& db, ExperimentId id) {
  TRY(db.exec("UPDATE experiments SET kept = 0 WHERE id = ?1 AND id <> 0", id));
  return drop_empty_experiment(db, id);
}

Result<bool> anything_to_clean(Connection& db) {
  return TRY(db.number("SELECT 1 WHERE EXISTS (SELECT 1 FROM removals) OR EXISTS (SELECT 1 FROM "
                       "hosts WHERE idle_since < ?1)",
                       sys::utc_now() - kHostsKept))
      .has_value();
}

Result<bool> clean_removed(Connection& db, BootTime until) {
  TRY(mark_idle_hosts(db));
  do {
    const auto owner = TRY(next_owner(db));
    // Another server may have finished the only one that this statement saw, and more be there.
    if (!owner) return TRY(db.number("SELECT 1 FROM removals LIMIT 1")).has_value();
    Cleaning cleaning(db, *owner, until);
    TRY(cleaning.round());
    if (cleaning.clean()) failpoint::reach("remove.cleaned");
  } while (sys::boot_now() < until);
  return true;
}

// ---- the size of what a removal deletes
namespace {

// The size of a run: by its sessions, by its series, and its output. length() reads no blob.
constexpr std::string_view kRunBytes =
    "SELECT CAST(coalesce((SELECT sum(length(b.frame)) FROM sessions s JOIN batches b ON b.session "
    "= s.key WHERE s.run = ?1), 0) "
    "+ coalesce((SELECT sum(length(g.data)) FROM sessions s JOIN row_groups g ON g.session = s.key "
    "WHERE s.run = ?1), 0) "
    "+ coalesce((SELECT sum(length(t.data)) FROM sessions s JOIN block_times t ON t.session = "
    "s.key WHERE s.run = ?1), 0) "
    "+ coalesce((SELECT sum(length(b.data)) FROM series x JOIN blocks b ON b.series = x.id WHERE "
    "x.owner_kind = 0 AND x.owner = ?1), 0) "
    "+ coalesce((SELECT sum(length(p.data)) FROM series x JOIN pyramid p ON p.series = x.id WHERE "
    "x.owner_kind = 0 AND x.owner = ?1), 0) "
    "+ coalesce((SELECT sum(length(l.bytes)) FROM logs l WHERE l.run = ?1), 0) AS BIGINT)";
constexpr std::string_view kWorkloadBytes =
    "SELECT CAST(coalesce((SELECT sum(length(b.data)) FROM series x JOIN blocks b ON b.series = "
    "x.id WHERE x.owner_kind = 1 AND x.owner = ?1), 0) "
    "+ coalesce((SELECT sum(length(p.data)) FROM series x JOIN pyramid p ON p.series = x.id WHERE "
    "x.owner_kind = 1 AND x.owner = ?1), 0) AS BIGINT)";
// If a run is being removed, its sessions' rows count no more.
constexpr std::string_view kGoingRunBytes =
    "SELECT CAST(coalesce((SELECT sum(length(b.data)) FROM series x JOIN blocks b ON b.series = "
    "x.id WHERE x.owner_kind = 0 AND x.owner = ?1), 0) "
    "+ coalesce((SELECT sum(length(p.data)) FROM series x JOIN pyramid p ON p.series = x.id WHERE "
    "x.owner_kind = 0 AND x.owner = ?1), 0) "
    "+ coalesce((SELECT sum(length(l.bytes)) FROM logs l WHERE l.run = ?1), 0) AS BIGINT)";
// Without series of hosts, which no removal of runs makes smaller.
constexpr std::string_view kAllBytes =
    "SELECT CAST(coalesce((SELECT sum(length(b.frame)) FROM batches b JOIN sessions s ON s.key = "
    "b.session WHERE s.removed = 0), 0) "
    "+ coalesce((SELECT sum(length(g.data)) FROM row_groups g JOIN sessions s ON s.key = g.session "
    "WHERE s.removed = 0), 0) "
    "+ coalesce((SELECT sum(length(t.data)) FROM block_times t JOIN sessions s ON s.key = "
    "t.session "
    "WHERE s.removed = 0), 0) "
    "+ coalesce((SELECT sum(length(b.data)) FROM blocks b JOIN series x ON x.id = b.series WHERE "
    "x.owner_kind <> 2), 0) "
    "+ coalesce((SELECT sum(length(p.data)) FROM pyramid p JOIN series x ON x.id = p.series WHERE "
    "x.owner_kind <> 2), 0) "
    "+ coalesce((SELECT sum(length(bytes)) FROM logs), 0) AS BIGINT)";

Result<std::int64_t> bytes_of(Connection& db, std::string_view sql, std::int64_t key) {
  return TRY(db.number(sql, key)).value_or(0);
}

std::int64_t points_of(const std::vector<codec::SamplesBody>& bodies,
                       const std::set<std::int64_t>& locals) {
  std::size_t points = 0;
  for (const codec::SamplesBody& body : bodies) {
    for (const codec::SampleGroup& group : body.groups) {
      for (const codec::Column& column : group.columns)
        points += locals.contains(column.series) ? column.values.size() : 0;
    }
  }
  return static_cast<std::int64_t>(points);
}

// Points of the run's own series; damaged rows do not count.
Result<std::int64_t> points_of_run(Connection& db, std::int64_t run) {
  std::set<SeriesId> own;
  std::map<std::int64_t, std::set<std::int64_t>> locals;  // by session
  {
    Statement row = TRY(
        db.query("SELECT x.id, m.session, m.local FROM series x JOIN session_series m ON m.series "
                 "= x.id WHERE x.owner_kind = 0 AND x.owner = ?1",
                 run));
    while (TRY(row.step())) {
      own.insert(SeriesId{row.integer(0)});
      locals[row.integer(1)].insert(row.integer(2));
    }
  }
  std::int64_t points = 0;
  {
    Statement row =
        TRY(db.query("SELECT p.statistics FROM sessions s JOIN slices p ON p.session = s.key WHERE "
                     "s.run = ?1",
                     run));
    while (TRY(row.step())) {
      const auto statistics = decode_statistics(row.blob(0));
      if (!statistics) continue;
      for (const auto& [series, delta] : *statistics)
        points += own.contains(series) ? delta.points : 0;
    }
  }
  Statement row = TRY(db.query(
      "SELECT b.session, b.frame FROM sessions s JOIN batches b ON b.session = s.key WHERE s.run = "
      "?1 AND b.damaged = 0",
      run));
  while (TRY(row.step())) {
    const auto samples = samples_of(row.blob(1));
    if (samples) points += points_of(*samples, locals[row.integer(0)]);
  }
  return points;
}

struct Candidate {
  RunId id;
  std::int64_t key = 0;
  std::int64_t workload = 0;
  std::int64_t ended = 0;
};

// Runs that ended, the oldest first.
Result<std::vector<Candidate>> ended_runs(Connection& db, UtcTime now) {
  Statement row = TRY(db.query(
      "SELECT id, key, workload, coalesce(ended, newest) FROM runs WHERE status <> 0 AND NOT "
      "(status = ?1 AND newest > ?2) ORDER BY coalesce(ended, newest), key",
      RunStatus::kUnknown, now - kStillSends));
  std::vector<Candidate> runs;
  while (TRY(row.step())) {
    runs.push_back({.id = row.id128<RunId>(0),
                    .key = row.integer(1),
                    .workload = row.integer(2),
                    .ended = row.integer(3)});
  }
  return runs;
}

// The number of runs of each workload.
Result<std::map<std::int64_t, std::int64_t>> runs_by_workload(Connection& db) {
  Statement row = TRY(db.query("SELECT workload, count(*) FROM runs GROUP BY workload"));
  std::map<std::int64_t, std::int64_t> runs;
  while (TRY(row.step())) runs[row.integer(0)] = row.integer(1);
  return runs;
}

// Rows of removed runs that are not yet deleted.
Result<std::int64_t> bytes_that_go(Connection& db) {
  std::vector<std::pair<std::int64_t, std::int64_t>> owners;
  {
    Statement row = TRY(db.query("SELECT owner_kind, owner FROM removals"));
    while (TRY(row.step())) owners.emplace_back(row.integer(0), row.integer(1));
  }
  std::int64_t bytes = 0;
  for (const auto& [kind, key] : owners) {
    if (static_cast<metric::Owner>(kind) == metric::Owner::kHost) continue;
    const bool run = static_cast<metric::Owner>(kind) == metric::Owner::kRun;
    bytes += TRY(bytes_of(db, run ? kGoingRunBytes : kWorkloadBytes, key));
  }
  return bytes;
}

}  // namespace

Result<Removal> size_of_removal(Connection& db, std::span<const RunId> runs, OfRunning running) {
  Removal removal;
  std::set<RunId> seen;
  for (const RunId id : runs) {
    if (!seen.insert(id).second) continue;
    std::int64_t key = 0;
    {
      Statement row = TRY(db.query("SELECT key, status, name FROM runs WHERE id = ?1", id));
      if (!TRY(row.step())) continue;
      key = row.integer(0);
      const bool runs_now = static_cast<RunStatus>(row.integer(1)) == RunStatus::kRunning;
      if (runs_now && running == OfRunning::kRefuse) return still_running(row.text(2), id);
      if (runs_now && running == OfRunning::kSkip) continue;
    }
    removal.runs.push_back(id);
    removal.points += TRY(points_of_run(db, key));
    removal.bytes += TRY(bytes_of(db, kRunBytes, key));
  }
  return removal;
}

Result<std::vector<RunId>> runs_to_remove(Connection& db, ExperimentId id) {
  if (!TRY(db.number("SELECT 1 FROM experiments WHERE id = ?1", id)))
    return fail(Code::kNotFound, "no experiment " + std::to_string(id.value));
  std::vector<RunId> runs;
  Statement row = TRY(db.query("SELECT id FROM runs WHERE experiment = ?1 ORDER BY key", id));
  while (TRY(row.step())) runs.push_back(row.id128<RunId>(0));
  return runs;
}

Result<std::vector<RunId>> outlived(Connection& db, const Retention& retention, UtcTime now) {
  // The database is larger than the counted data in it: if it is below the limit, counting is not
  // needed.
  std::int64_t excess = 0;
  if (retention.bytes && TRY(db.bytes()) > *retention.bytes)
    excess = TRY(db.number(kAllBytes)).value_or(0) - TRY(bytes_that_go(db)) - *retention.bytes;
  auto left = TRY(runs_by_workload(db));
  std::vector<RunId> runs;
  for (const Candidate& run : TRY(ended_runs(db, now))) {
    const bool old = retention.age && utc_time(run.ended) < now - *retention.age;
    if (!old && excess <= 0) break;
    runs.push_back(run.id);
    if (excess <= 0) continue;
    excess -= TRY(bytes_of(db, kRunBytes, run.key));
    if (--left[run.workload] == 0) excess -= TRY(bytes_of(db, kWorkloadBytes, run.workload));
  }
  return runs;
}

}  // namespace corral::store::sql
