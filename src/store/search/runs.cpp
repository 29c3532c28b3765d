#include "store/search/runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "core/json.h"
#include "store/engine/keys.h"
#include "store/engine/views.h"
#include "store/ingest/ingest.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;
using sql::Statement;

constexpr std::string_view kColumns =
    "SELECT r.key, r.id, r.name, r.experiment, e.artifact_location, r.user_id, r.status, "
    "r.client_status, r.started, r.ended, r.client_end, r.lifecycle, r.artifact_uri, r.creator "
    "FROM runs r "
    "JOIN experiments e ON e.id = r.experiment WHERE ";

RunStatus stored_status(ClientStatus status) {
  switch (status) {
    case ClientStatus::kRunning:
    case ClientStatus::kScheduled:
      return RunStatus::kRunning;
    case ClientStatus::kFinished:
      return RunStatus::kFinished;
    case ClientStatus::kFailed:
      return RunStatus::kFailed;
    case ClientStatus::kKilled:
      break;
  }
  return RunStatus::kStopped;
}

// The status of a run without a report of a client. An unknown end counts as failed.
ClientStatus client_status(RunStatus status) {
  switch (status) {
    case RunStatus::kRunning:
      return ClientStatus::kRunning;
    case RunStatus::kFinished:
      return ClientStatus::kFinished;
    case RunStatus::kStopped:
      return ClientStatus::kKilled;
    case RunStatus::kFailed:
    case RunStatus::kUnknown:
      break;
  }
  return ClientStatus::kFailed;
}

RunRow run_from_row(const Statement& row) {
  RunRow run;
  run.key = row.integer(0);
  run.id = row.id128<RunId>(1);
  run.name = row.text(2);
  run.experiment = ExperimentId{row.integer(3)};
  run.experiment_location = row.text(4);
  run.user_id = row.text(5);
  run.status = row.is_null(7) ? client_status(static_cast<RunStatus>(row.integer(6)))
                              : static_cast<ClientStatus>(row.integer(7));
  run.start = row.utc(8);
  if (!row.is_null(10)) {
    run.end = row.utc(10);
  } else if (row.is_null(7) && !row.is_null(9)) {
    run.end = row.utc(9);
  }
  run.lifecycle = static_cast<Lifecycle>(row.integer(11));
  run.artifact_uri = row.text(12);
  run.creator = row.text(13);
  if (run.experiment_location.empty())
    run.experiment_location = default_artifact_location(run.experiment);
  run.place_is_kept = !run.artifact_uri.empty();
  if (!run.place_is_kept)
    run.artifact_uri = fmt::format("{}/{}/artifacts", run.experiment_location, run.id.hex());
  return run;
}

// A JSON object of strings.
std::string tags_to_json(const Tags& tags) {
  Json::Object object;
  for (const auto& [key, value] : tags) object.emplace_back(key, value);
  return Json(std::move(object)).dump();
}

Tags parse_tags(const std::string& text) {
  Tags tags;
  const auto json = Json::parse(text);
  if (!json || json->as_object() == nullptr) return tags;
  for (const auto& [key, value] : *json->as_object())
    tags.emplace_back(key, value.as_string() != nullptr ? *value.as_string() : "");
  return tags;
}

}  // namespace

Result<std::int64_t> create_run(Connection& db, const NewRun& run) {
  if (!TRY(db.number("SELECT 1 FROM experiments WHERE id = ?1", run.experiment)))
    return fail(Code::kNotFound, fmt::format("no experiment {}", run.experiment.value));
  const auto workload =
      TRY(db.number("INSERT INTO workloads (id, experiment, name, created) VALUES (?1, ?2, '', ?3) "
                    "RETURNING key",
                    own_workload_of(run.id), run.experiment, run.start));
  const auto key = TRY(db.number(
      "INSERT INTO runs (id, name, experiment, workload, status, supervised, started, newest, "
      "host, user_id, client_status, creator) VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, ?5, ?6, ?7, ?8, "
      "?9) "
      "RETURNING key",
      run.id, run.name, run.experiment, *workload, run.start, run.host, run.user_id,
      ClientStatus::kRunning, run.creator));
  for (const auto& [name, value] : run.tags) TRY(set_fact(db, *key, Fact::kTag, name, value));
  return *key;
}

Result<std::optional<RunRow>> run(Connection& db, RunId id) {
  return sql::read_first(db.query(std::string(kColumns) + "r.id = ?1", id), run_from_row);
}

Result<std::optional<RunRow>> lock_run(Connection& db, RunId id) {
  if (!db.dialect().lock_row.empty()) {
    TRY(db.exec("SELECT key FROM runs WHERE id = ?1" + std::string(db.dialect().lock_row), id));
  }
  return run(db, id);
}

Result<std::vector<RunRow>> runs(Connection& db, std::span<const std::int64_t> keys) {
  std::unordered_map<std::int64_t, RunRow> found;
  TRY(sql::for_rows_of(db, std::string(kColumns) + "{}", "r.key", keys, [&](const Statement& row) {
    RunRow run = run_from_row(row);
    found.emplace(run.key, std::move(run));
  }));
  std::vector<RunRow> all;
  for (const std::int64_t key : keys) {
    if (const auto known = found.find(key); known != found.end())
      all.push_back(std::move(known->second));
  }
  return all;
}

Result<std::vector<RunRow>> runs_between(Connection& db, ExperimentId first, ExperimentId last) {
  return sql::read_all(
      db.query(std::string(kColumns) + "r.experiment BETWEEN ?1 AND ?2", first, last),
      run_from_row);
}

Result<std::vector<RunDetails>> details(Connection& db, std::span<const std::int64_t> keys) {
  std::vector<RunDetails> all(keys.size());
  std::unordered_map<std::int64_t, RunDetails*> by_key;
  for (std::size_t i = 0; i < keys.size(); ++i) by_key.emplace(keys[i], &all[i]);
  TRY(sql::for_rows_of(
      db,
      fmt::format("SELECT run, kind, key, value FROM {} WHERE {{}} AND kind <= 1 ORDER BY run, "
                  "kind, key",
                  sql::whole_facts(db)),
      "run", keys, [&](const Statement& row) {
        RunDetails& one = *by_key.at(row.integer(0));
        (row.integer(1) == 0 ? one.params : one.tags).emplace_back(row.text(2), row.text(3));
      }));
  TRY(sql::for_rows_of(
      db,
      "SELECT i.run, d.name, d.digest, d.source_type, d.source, d.dataset_schema, d.profile, "
      "i.tags "
      "FROM run_inputs i JOIN datasets d ON d.id = i.dataset WHERE {} ORDER BY i.run, d.id",
      "i.run", keys, [&](const Statement& row) {
        by_key.at(row.integer(0))
            ->inputs.push_back({.name = row.text(1),
                                .digest = row.text(2),
                                .source_type = row.text(3),
                                .source = row.text(4),
                                .schema = row.text(5),
                                .profile = row.text(6),
                                .tags = parse_tags(row.text(7))});
      }));
  TRY(sql::for_rows_of(
      db,
      "SELECT run, direction, model, step FROM run_models WHERE {} ORDER BY run, direction, model",
      "run", keys, [&](const Statement& row) {
        RunDetails& one = *by_key.at(row.integer(0));
        (row.integer(1) == 0 ? one.model_inputs : one.model_outputs)
            .push_back({.model = row.text(2), .step = row.integer(3)});
      }));
  return all;
}

// If the run has a supervisor, only the client's view changes: the run itself continues, or has
// ended already.
Result<> update_run(Connection& db, const RunRow& run, const RunUpdate& update) {
  if (update.name) TRY(db.exec("UPDATE runs SET name = ?2 WHERE key = ?1", run.key, *update.name));
  if (update.status) {
    TRY(db.exec("UPDATE runs SET client_status = ?2 WHERE key = ?1", run.key, *update.status));
    TRY(db.exec("UPDATE runs SET status = ?2 WHERE key = ?1 AND supervised = 0", run.key,
                stored_status(*update.status)));
  }
  if (!update.end) return {};
  TRY(db.exec("UPDATE runs SET client_end = ?2 WHERE key = ?1", run.key, *update.end));
  return db.exec("UPDATE runs SET ended = ?2 WHERE key = ?1 AND supervised = 0 AND status <> 0",
                 run.key, *update.end);
}

Result<> set_run_lifecycle(Connection& db, std::int64_t run, Lifecycle lifecycle, UtcTime now) {
  return db.exec("UPDATE runs SET lifecycle = ?2, trashed = ?3 WHERE key = ?1 AND lifecycle <> ?2",
                 run, lifecycle,
                 lifecycle == Lifecycle::kDeleted ? std::optional(now) : std::nullopt);
}

Result<> keep_artifact_uri(Connection& db, const RunRow& run) {
  return db.exec("UPDATE runs SET artifact_uri = ?2 WHERE key = ?1 AND artifact_uri = ''", run.key,
                 run.artifact_uri);
}

Result<bool> was_removed(Connection& db, RunId id) {
  return TRY(db.number("SELECT 1 FROM removed_runs WHERE id = ?1", id)).has_value();
}

Result<> move_run(Connection& db, std::int64_t run, ExperimentId experiment) {
  TRY(
      db.exec("UPDATE workloads SET experiment = ?2 WHERE key = (SELECT workload FROM runs WHERE "
              "key = ?1) AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.workload = workloads.key AND "
              "o.key <> ?1)",
              run, experiment));
  return db.exec("UPDATE runs SET experiment = ?2 WHERE key = ?1", run, experiment);
}

Result<std::optional<std::string>> fact(Connection& db, std::int64_t run, Fact kind,
                                        std::string_view key) {
  return sql::read_first(
      db.query("SELECT value FROM facts WHERE run = ?1 AND kind = ?2 AND key = ?3", run, kind, key),
      [](const Statement& row) { return row.text(0); });
}

Result<> set_fact(Connection& db, std::int64_t run, Fact kind, std::string_view key,
                  std::string_view value) {
  return db.defer(
      "INSERT INTO facts (run, kind, key, value) VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT (run, kind, key) DO UPDATE SET value = excluded.value",
      run, kind, key, value);
}

Result<bool> delete_fact(Connection& db, std::int64_t run, Fact kind, std::string_view key) {
  return TRY(db.number("DELETE FROM facts WHERE run = ?1 AND kind = ?2 AND key = ?3 RETURNING 1",
                       run, kind, key))
      .has_value();
}

Result<> add_input(Connection& db, const RunRow& run, const RunInput& input) {
  TRY(
      db.exec("INSERT INTO datasets (experiment, name, digest, source_type, source, "
              "dataset_schema, profile) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
              "ON CONFLICT (experiment, name, digest) DO NOTHING",
              run.experiment, input.name, input.digest, input.source_type, input.source,
              input.schema, input.profile));
  const auto dataset =
      TRY(db.number("SELECT id FROM datasets WHERE experiment = ?1 AND name = ?2 AND digest = ?3",
                    run.experiment, input.name, input.digest));
  std::string context;
  for (const auto& [key, value] : input.tags) {
    if (key == "mlflow.data.context") context = value;
  }
  return db.exec(
      "INSERT INTO run_inputs (run, dataset, context, tags) VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT (run, dataset) DO NOTHING",
      run.key, dataset, context, tags_to_json(input.tags));
}

Result<> add_model(Connection& db, std::int64_t run, Direction direction, const RunModel& model) {
  return db.exec(
      "INSERT INTO run_models (run, direction, model, step) VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT (run, direction, model) DO UPDATE SET step = excluded.step",
      run, direction, model.model, model.step);
}

Result<std::vector<DatasetSummary>> datasets_of(Connection& db,
                                                std::span<const ExperimentId> experiments,
                                                std::size_t limit) {
  std::vector<DatasetSummary> all;
  for (const ExperimentId experiment : experiments) {
    Statement row = TRY(
        db.query("SELECT DISTINCT d.name, d.digest, i.context FROM datasets d JOIN run_inputs i "
                 "ON i.dataset = d.id WHERE d.experiment = ?1 ORDER BY d.name, d.digest, "
                 "i.context LIMIT ?2",
                 experiment, limit - all.size()));
    while (TRY(row.step())) all.push_back({experiment, row.text(0), row.text(1), row.text(2)});
  }
  return all;
}

// ---- workloads
Result<> assign_workload(Connection& db, std::int64_t run, std::string_view name) {
  std::int64_t previous = 0;
  sql::NewWorkload named{.id = {}, .name = std::string(name), .created = {}};
  {
    Statement row = TRY(db.query(
        "SELECT r.experiment, r.workload, r.started, e.name FROM runs r JOIN experiments e "
        "ON e.id = r.experiment WHERE r.key = ?1 AND r.supervised = 0",
        run));
    if (!TRY(row.step())) return {};
    named.experiment = row.integer(0);
    previous = row.integer(1);
    named.created = row.utc(2);
    named.id = workload_id_of(row.text(3), name);
  }
  const std::int64_t workload = TRY(sql::find_or_make_workload(db, named));
  if (workload == previous) return {};
  TRY(db.exec("UPDATE runs SET workload = ?2 WHERE key = ?1", run, workload));
  TRY(db.exec("UPDATE sessions SET workload = ?2 WHERE run = ?1", run, workload));
  return db.exec(
      "DELETE FROM workloads WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE workload = "
      "?1) AND NOT EXISTS (SELECT 1 FROM sessions WHERE workload = ?1) AND NOT EXISTS (SELECT 1 "
      "FROM series WHERE owner_kind = 1 AND owner = ?1)",
      previous);
}

}  // namespace corral::store::tracking
