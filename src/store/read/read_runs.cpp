#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "store/engine/keys.h"
#include "store/engine/views.h"
#include "store/read/reads.h"

namespace corral::store::sql {
namespace {

constexpr std::string_view kRunColumns =
    "SELECT r.key, r.id, r.name, r.experiment, e.name, w.id, w.name, r.status, r.started, r.ended, "
    "r.newest, r.end_reason, r.exit_code, r.exit_signal, r.host, r.lifecycle, r.trashed, r.creator "
    "FROM runs r JOIN experiments e ON e.id = r.experiment JOIN workloads w ON w.key = r.workload ";

template <class T>
std::optional<T> maybe(const std::optional<std::int64_t>& number) {
  return number ? std::optional(static_cast<T>(*number)) : std::nullopt;
}

Run run_from_row(const Statement& row) {
  Run run;
  run.id = row.id128<RunId>(1);
  run.name = row.text(2);
  run.experiment = ExperimentId{row.integer(3)};
  run.experiment_name = row.text(4);
  run.workload = row.id128<WorkloadId>(5);
  run.workload_name = row.text(6);
  run.status = static_cast<RunStatus>(row.integer(7));
  run.start = row.utc(8);
  run.end = row.maybe_utc(9);
  run.newest = row.utc(10);
  run.end_reason = maybe<codec::EndReason>(row.maybe_integer(11));
  run.exit_code = maybe<std::int32_t>(row.maybe_integer(12));
  run.exit_signal = maybe<std::int32_t>(row.maybe_integer(13));
  run.host = row.text(14);
  run.lifecycle = static_cast<Lifecycle>(row.integer(15));
  run.trashed = row.maybe_utc(16);
  run.creator = row.text(17);
  return run;
}

Result<> read_facts(Connection& db, std::int64_t key, Run& run) {
  Statement row =
      TRY(db.query("SELECT kind, key, value FROM facts WHERE run = ?1 ORDER BY kind, key", key));
  while (TRY(row.step())) {
    std::vector<std::pair<std::string, std::string>>* list = nullptr;
    switch (static_cast<codec::FactKind>(row.integer(0))) {
      case codec::FactKind::kParam:
        list = &run.params;
        break;
      case codec::FactKind::kTag:
        list = &run.tags;
        break;
      case codec::FactKind::kInfo:
        list = &run.info;
        break;
      case codec::FactKind::kUnavailable:
        list = &run.unavailable;
        break;
      case codec::FactKind::kDrop:
        list = &run.drops;
        break;
    }
    if (list != nullptr) list->emplace_back(row.text(1), row.text(2));
  }
  return {};
}

// Every clause has its fixed parameter, so that all filters bind the same values.
std::string where_clause(const RunFilter& filter, bool paged) {
  std::string where = fmt::format("WHERE r.lifecycle = {}", static_cast<int>(filter.lifecycle));
  if (filter.experiment) where += " AND r.experiment = ?1";
  if (filter.workload) where += " AND r.workload = (SELECT key FROM workloads WHERE id = ?2)";
  if (filter.status) where += " AND r.status = ?3";
  if (paged && filter.before) where += " AND (r.started, r.id) < (?4, ?5)";
  return where;
}

Result<std::vector<RunId>> read_ids(Result<Statement> query) {
  return read_all(std::move(query), [](const Statement& row) { return row.id128<RunId>(0); });
}

// Smallest and greatest id that start with these hex digits.
std::optional<std::pair<RunId, RunId>> prefix_range(std::string_view text) {
  if (text.empty() || text.size() > 32) return std::nullopt;
  auto low = RunId::parse(std::string(text) + std::string(32 - text.size(), '0'));
  auto high = RunId::parse(std::string(text) + std::string(32 - text.size(), 'f'));
  if (!low || !high) return std::nullopt;
  return std::pair(*low, *high);
}

}  // namespace

Result<std::optional<Ack>> read_session(Connection& db, SessionId id) {
  const auto durable = TRY(db.number("SELECT durable_seq FROM sessions WHERE id = ?1", id));
  if (!durable) return std::nullopt;
  return Ack{.session = id, .durable_seq = static_cast<std::uint64_t>(*durable)};
}

Result<std::vector<Experiment>> read_experiments(Connection& db) {
  return read_all(db.query("SELECT e.id, e.name, e.created, count(r.key), count(CASE WHEN r.status "
                           "= 0 THEN 1 END) FROM experiments e LEFT JOIN runs r ON r.experiment = "
                           "e.id AND r.lifecycle = 0 WHERE e.lifecycle = 0 GROUP BY e.id HAVING "
                           "e.id <> 0 OR count(r.key) > 0 ORDER BY e.created DESC, e.id DESC"),
                  [](const Statement& row) {
                    return Experiment{.id = ExperimentId{row.integer(0)},
                                      .name = row.text(1),
                                      .created = row.utc(2),
                                      .runs = row.integer(3),
                                      .running = row.integer(4)};
                  });
}

Result<std::vector<Workload>> read_workloads(Connection& db,
                                             std::optional<ExperimentId> experiment) {
  Statement row =
      TRY(db.query("SELECT w.key, w.id, w.experiment, w.name, w.created FROM workloads w WHERE ?1 "
                   "IS NULL OR w.experiment = ?1 ORDER BY w.created DESC, w.key DESC",
                   experiment));
  std::vector<Workload> workloads;
  while (TRY(row.step())) {
    Workload workload{.id = row.id128<WorkloadId>(1),
                      .experiment = ExperimentId{row.integer(2)},
                      .name = row.text(3),
                      .created = row.utc(4),
                      .runs = {}};
    workload.runs = TRY(read_ids(
        db.query("SELECT id FROM runs WHERE workload = ?1 AND lifecycle <= 0 ORDER BY started, id",
                 row.integer(0))));
    workloads.push_back(std::move(workload));
  }
  return workloads;
}

Result<RunPage> read_runs(Connection& db, const RunFilter& filter) {
  RunPage page;
  page.total = TRY(db.number("SELECT count(*) FROM runs r " + where_clause(filter, false),
                             filter.experiment, filter.workload, filter.status))
                   .value_or(0);
  const auto [time, id] = filter.before.value_or(std::pair<UtcTime, RunId>{});
  Statement row =
      TRY(db.query(std::string(kRunColumns) + where_clause(filter, true) +
                       " ORDER BY r.started DESC, r.id DESC LIMIT ?6",
                   filter.experiment, filter.workload, filter.status, time, id, filter.limit));
  while (TRY(row.step())) {
    page.runs.push_back(run_from_row(row));
    if (filter.facts) TRY(read_facts(db, row.integer(0), page.runs.back()));
  }
  return page;
}

Result<std::optional<Run>> read_run(Connection& db, RunId id) {
  Statement row = TRY(db.query(std::string(kRunColumns) + "WHERE r.id = ?1", id));
  if (!TRY(row.step())) return std::nullopt;
  Run run = run_from_row(row);
  TRY(read_facts(db, row.integer(0), run));
  return run;
}

Result<std::vector<Run>> read_listed_runs(Connection& db, std::span<const std::int64_t> keys) {
  std::unordered_map<std::int64_t, Run> found;
  TRY(for_rows_of(db, std::string(kRunColumns) + "WHERE {}", "r.key", keys,
                  [&](const Statement& row) { found.emplace(row.integer(0), run_from_row(row)); }));
  static_assert(static_cast<int>(codec::FactKind::kTag) == 1);
  static_assert(static_cast<int>(codec::FactKind::kInfo) == 2);
  // The ends of runs in words, which a list shows.
  const std::string values = fmt::format("SELECT run, value FROM {} WHERE ", sql::whole_facts(db));
  TRY(for_rows_of(db, values + "kind = 1 AND key = 'corral.outcome' AND {}", "run", keys,
                  [&](const Statement& row) {
                    const auto run = found.find(row.integer(0));
                    if (run != found.end())
                      run->second.tags.emplace_back("corral.outcome", row.text(1));
                  }));
  TRY(for_rows_of(db, values + "kind = 2 AND key = 'command' AND {}", "run", keys,
                  [&](const Statement& row) {
                    const auto run = found.find(row.integer(0));
                    if (run != found.end()) run->second.info.emplace_back("command", row.text(1));
                  }));
  std::vector<Run> runs;
  runs.reserve(keys.size());
  for (const std::int64_t key : keys) {
    const auto run = found.find(key);
    if (run != found.end()) runs.push_back(std::move(run->second));
  }
  return runs;
}

Result<std::vector<RunId>> read_matching_runs(Connection& db, std::string_view text) {
  std::vector<RunId> ids;
  if (const auto range = prefix_range(text)) {
    ids = TRY(read_ids(db.query(
        "SELECT id FROM runs WHERE id BETWEEN ?1 AND ?2 ORDER BY started DESC, id DESC LIMIT 2",
        range->first, range->second)));
  }
  if (text.empty()) return ids;
  const auto named =
      TRY(read_ids(db.query("SELECT id FROM runs WHERE name = ?1 AND lifecycle <= 0 ORDER BY "
                            "started DESC, id DESC LIMIT 2",
                            text)));
  for (const RunId id : named) {
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

}  // namespace corral::store::sql
