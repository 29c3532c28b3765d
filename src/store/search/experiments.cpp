#include "store/search/experiments.h"

#include <fmt/core.h>

#include "store/remove/remove.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;
using sql::Statement;

constexpr std::string_view kColumns =
    "SELECT id, name, created, updated, lifecycle, artifact_location FROM experiments WHERE ";

Result<Tags> tags_of(Connection& db, ExperimentId id) {
  Tags tags;
  Statement row = TRY(
      db.query("SELECT key, value FROM experiment_tags WHERE experiment = ?1 ORDER BY key", id));
  while (TRY(row.step())) tags.emplace_back(row.text(0), row.text(1));
  return tags;
}

ExperimentRow experiment_of(const Statement& row) {
  ExperimentRow experiment;
  experiment.id = ExperimentId{row.integer(0)};
  experiment.name = row.text(1);
  experiment.created = row.utc(2);
  experiment.updated = row.integer(3) == 0 ? experiment.created : row.utc(3);
  experiment.lifecycle = static_cast<Lifecycle>(row.integer(4));
  experiment.artifact_location = row.text(5);
  if (experiment.artifact_location.empty())
    experiment.artifact_location = default_artifact_location(experiment.id);
  return experiment;
}

Result<std::optional<ExperimentRow>> one(Connection& db, Result<Statement> query) {
  ExperimentRow experiment;
  {
    Statement row = TRY(std::move(query));
    if (!TRY(row.step())) return std::nullopt;
    experiment = experiment_of(row);
  }
  experiment.tags = TRY(tags_of(db, experiment.id));
  return experiment;
}

tl::unexpected<Error> name_taken(std::string_view name) {
  return fail(Code::kAlreadyExists, fmt::format("there is an experiment '{}' already", name));
}

}  // namespace

std::string default_artifact_location(ExperimentId id) {
  return sql::default_artifact_location(id);
}

Result<ExperimentId> create_experiment(Connection& db, const NewExperiment& experiment,
                                       UtcTime now) {
  const auto id = TRY(
      db.number("INSERT INTO experiments (name, created, updated, artifact_location, kept) VALUES "
                "(?1, ?2, ?2, ?3, 1) ON CONFLICT (name) DO NOTHING RETURNING id",
                experiment.name, now, experiment.artifact_location));
  if (!id) return name_taken(experiment.name);
  for (const auto& [key, value] : experiment.tags)
    TRY(set_experiment_tag(db, ExperimentId{*id}, key, value));
  return ExperimentId{*id};
}

Result<std::optional<ExperimentRow>> experiment(Connection& db, ExperimentId id) {
  return one(db, db.query(std::string(kColumns) + "id = ?1", id));
}

Result<std::optional<ExperimentRow>> experiment_named(Connection& db, std::string_view name) {
  return one(db, db.query(std::string(kColumns) + "name = ?1", name));
}

Result<std::vector<ExperimentRow>> experiments(Connection& db, Lifecycle first, Lifecycle last) {
  std::vector<ExperimentRow> all;
  Statement row =
      TRY(db.query(std::string(kColumns) + "lifecycle BETWEEN ?1 AND ?2 ORDER BY created DESC, id",
                   first, last));
  while (TRY(row.step())) all.push_back(experiment_of(row));
  return all;
}

Result<> rename_experiment(Connection& db, ExperimentId id, std::string_view name, UtcTime now) {
  if (TRY(db.number("SELECT 1 FROM experiments WHERE name = ?1 AND id <> ?2", name, id)))
    return name_taken(name);
  return db.exec("UPDATE experiments SET name = ?2, updated = ?3 WHERE id = ?1", id, name, now);
}

Result<> hold_experiment(Connection& db, ExperimentId id) {
  if (!db.dialect().shared) return {};  // one transaction at a time
  return db.exec("SELECT 1 FROM experiments WHERE id = ?1 FOR SHARE", id);
}

Result<> set_lifecycle(Connection& db, ExperimentId id, Lifecycle lifecycle, UtcTime now) {
  TRY(db.exec("UPDATE experiments SET lifecycle = ?2, updated = ?3, kept = 1 WHERE id = ?1", id,
              lifecycle, now));
  return db.exec("UPDATE runs SET lifecycle = ?2 WHERE experiment = ?1", id, lifecycle);
}

Result<> set_experiment_tag(Connection& db, ExperimentId id, std::string_view key,
                            std::string_view value) {
  return db.exec(
      "INSERT INTO experiment_tags (experiment, key, value) VALUES (?1, ?2, ?3) "
      "ON CONFLICT (experiment, key) DO UPDATE SET value = excluded.value",
      id, key, value);
}

Result<bool> delete_experiment_tag(Connection& db, ExperimentId id, std::string_view key) {
  return TRY(db.number("DELETE FROM experiment_tags WHERE experiment = ?1 AND key = ?2 RETURNING 1",
                       id, key))
      .has_value();
}

}  // namespace corral::store::tracking
