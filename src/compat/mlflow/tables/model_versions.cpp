#include <fmt/core.h>

#include <map>

#include "compat/mlflow/tables/registry.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;
using sql::Statement;

using ByKey = std::map<VersionKey, ModelVersionRow>;

ModelVersionRow version_of(const Statement& row) {
  ModelVersionRow version;
  version.key = {row.text(0), row.integer(1)};
  version.created = row.utc(2);
  version.updated = row.utc(3);
  if (!row.is_null(4)) version.description = row.text(4);
  version.user_id = row.text(5);
  version.stage = row.text(6);
  version.source = row.text(7);
  version.storage_location = row.text(8);
  version.run_id = row.text(9);
  version.run_link = row.text(10);
  version.model_id = row.text(11);
  version.status = static_cast<VersionStatus>(row.integer(12));
  version.status_message = row.text(13);
  return version;
}

Result<ByKey> rows_of(Connection& db, std::span<const VersionKey> keys) {
  ByKey versions;
  TRY(for_rows_of(
      db,
      "SELECT v.model, v.version, v.created, v.updated, v.description, v.user_id, v.stage, "
      "v.source, v.storage_location, v.source_run, v.run_link, v.model_id, v.status, "
      "v.status_message FROM model_versions v WHERE {}",
      "v", keys, [&](const Statement& row) {
        ModelVersionRow version = version_of(row);
        VersionKey key = version.key;
        versions.insert_or_assign(std::move(key), std::move(version));
      }));
  return versions;
}

// The transaction's hold on a model's row keeps others from its versions, too.
Result<> touch_model(Connection& db, std::string_view name, UtcTime now) {
  return db.exec("UPDATE registered_models SET updated = ?2 WHERE name = ?1", name, now);
}

}  // namespace

Result<VersionKey> create_model_version(Connection& db, const NewModelVersion& version,
                                        UtcTime now) {
  const auto number =
      TRY(db.number("UPDATE registered_models SET last_version = last_version + 1, updated = ?2 "
                    "WHERE name = ?1 RETURNING last_version",
                    version.model, now));
  if (!number) {
    return fail(Code::kNotFound,
                fmt::format("Registered Model with name={} not found", version.model));
  }
  const VersionKey key{version.model, *number};
  TRY(db.exec(
      "INSERT INTO model_versions (model, version, created, updated, description, user_id, stage, "
      "source, storage_location, source_run, run_link, model_id, status, status_message) VALUES "
      "(?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, '')",
      key.model, key.version, now, version.description, version.user_id, kNoStage, version.source,
      version.storage_location, version.run_id, version.run_link, version.model_id,
      VersionStatus::kReady));
  for (const auto& [tag, value] : version.tags) TRY(set_model_version_tag(db, key, tag, value));
  return key;
}

Result<bool> has_model_version(Connection& db, const VersionKey& key) {
  return TRY(db.number("SELECT 1 FROM model_versions WHERE model = ?1 AND version = ?2", key.model,
                       key.version))
      .has_value();
}

Result<std::optional<ModelVersionRow>> model_version(Connection& db, const VersionKey& key) {
  auto versions = TRY(model_versions(db, std::span(&key, 1), With::kAliases));
  if (versions.empty()) return std::nullopt;
  return std::move(versions.front());
}

Result<std::vector<ModelVersionRow>> model_versions(Connection& db,
                                                    std::span<const VersionKey> keys, With with) {
  ByKey versions = TRY(rows_of(db, keys));
  const auto of = [&](const Statement& row) -> ModelVersionRow& {
    return versions[VersionKey{row.text(0), row.integer(1)}];
  };
  TRY(for_rows_of(
      db,
      "SELECT t.model, t.version, t.key, t.value FROM model_version_tags t WHERE {} ORDER BY "
      "t.model, t.version, t.key",
      "t", keys,
      [&](const Statement& row) { of(row).tags.emplace_back(row.text(2), row.text(3)); }));
  if (with == With::kAliases) {
    TRY(for_rows_of(
        db,
        "SELECT a.model, a.version, a.alias FROM registered_model_aliases a WHERE {} ORDER BY "
        "a.model, a.alias",
        "a", keys, [&](const Statement& row) { of(row).aliases.push_back(row.text(2)); }));
  }
  std::vector<ModelVersionRow> rows;
  for (const VersionKey& key : keys) {
    auto found = versions.extract(key);
    if (found) rows.push_back(std::move(found.mapped()));
  }
  return rows;
}

Result<> describe_model_version(Connection& db, const VersionKey& key,
                                const std::optional<std::string>& description, UtcTime now) {
  return db.exec(
      "UPDATE model_versions SET description = ?3, updated = ?4 WHERE model = ?1 AND version = ?2",
      key.model, key.version, description, now);
}

Result<> move_to_stage(Connection& db, const VersionKey& key, std::string_view stage, Others others,
                       UtcTime now) {
  TRY(touch_model(db, key.model, now));
  if (others == Others::kArchive) {
    TRY(db.exec(
        "UPDATE model_versions SET stage = ?3, updated = ?4 WHERE model = ?1 AND version <> ?2 AND "
        "stage = ?5",
        key.model, key.version, kArchived, now, stage));
  }
  return db.exec(
      "UPDATE model_versions SET stage = ?3, updated = ?4 WHERE model = ?1 AND version = ?2",
      key.model, key.version, stage, now);
}

Result<> delete_model_version(Connection& db, const VersionKey& key, UtcTime now) {
  TRY(touch_model(db, key.model, now));
  TRY(db.exec("DELETE FROM registered_model_aliases WHERE model = ?1 AND version = ?2", key.model,
              key.version));
  return db.exec("DELETE FROM model_versions WHERE model = ?1 AND version = ?2", key.model,
                 key.version);
}

Result<> set_model_version_tag(Connection& db, const VersionKey& key, std::string_view tag,
                               std::string_view value) {
  return db.exec(
      "INSERT INTO model_version_tags (model, version, key, value) VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT (model, version, key) DO UPDATE SET value = excluded.value",
      key.model, key.version, tag, value);
}

Result<> delete_model_version_tag(Connection& db, const VersionKey& key, std::string_view tag) {
  return db.exec("DELETE FROM model_version_tags WHERE model = ?1 AND version = ?2 AND key = ?3",
                 key.model, key.version, tag);
}

}  // namespace corral::store::tracking
