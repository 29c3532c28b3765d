#include <map>
#include <set>

#include "store/engine/stored.h"
#include "store/model/slice_statistics.h"
#include "store/remove/remove.h"

namespace corral::store::sql {
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
