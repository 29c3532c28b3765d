#include "store/search/experiments.h"

#include <fmt/core.h>

namespace corral::store::tracking {
namespace {

using sql::Connection;
using sql::Statement;

constexpr std::string_view kColumns =
    "SELECT id, name, created, updated, lifecycle, artifact_location FROM experiments WHERE ";

Result<Tags> read_tags(Connection& db, ExperimentId id) {
  return sql::read_all(
      db.query("SELECT key, value FROM experiment_tags WHERE experiment = ?1 ORDER BY key", id),
      [](const Statement& row) { return std::pair(row.text(0), row.text(1)); });
}

ExperimentRow experiment_from_row(const Statement& row) {
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

Result<std::optional<ExperimentRow>> read_one(Connection& db, Result<Statement> query) {
  auto experiment = TRY(sql::read_first(std::move(query), experiment_from_row));
  if (experiment) experiment->tags = TRY(read_tags(db, experiment->id));
  return experiment;
}

tl::unexpected<Error> name_taken(std::string_view name) {
  return fail(Code::kAlreadyExists, fmt::format("there is an experiment '{}' already", name));
}

}  // namespace

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
  return read_one(db, db.query(std::string(kColumns) + "id = ?1", id));
}

Result<std::optional<ExperimentRow>> experiment_named(Connection& db, std::string_view name) {
  return read_one(db, db.query(std::string(kColumns) + "name = ?1", name));
}

Result<std::vector<ExperimentRow>> experiments(Connection& db, Lifecycle first, Lifecycle last) {
  return sql::read_all(
      db.query(std::string(kColumns) + "lifecycle BETWEEN ?1 AND ?2 ORDER BY created DESC, id",
               first, last),
      experiment_from_row);
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
  return db.exec(
      "UPDATE runs SET lifecycle = ?2, trashed = ?3 WHERE experiment = ?1 AND lifecycle <> ?2", id,
      lifecycle, lifecycle == Lifecycle::kDeleted ? std::optional(now) : std::nullopt);
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
