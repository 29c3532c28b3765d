#include "compat/mlflow/tables/registry.h"

#include <fmt/core.h>

#include <map>
#include <unordered_map>

namespace corral::store::tracking {
namespace {

using sql::Connection;
using sql::Statement;

// The newest version of each stage of models.
struct Latest {
  VersionKey key;
  std::string stage;
};

Result<std::vector<Latest>> latest_of(Connection& db, std::span<const std::string> names) {
  std::vector<Latest> latest;
  TRY(for_rows_of(db,
                  "SELECT model, stage, max(version), min(version) FROM model_versions WHERE {} "
                  "GROUP BY model, stage ORDER BY 1, 4",
                  "model", names, [&](const Statement& row) {
                    latest.push_back({{row.text(0), row.integer(2)}, row.text(1)});
                  }));
  return latest;
}

using ByName = std::unordered_map<std::string, RegisteredModelRow>;

Result<ByName> rows_of(Connection& db, std::span<const std::string> names) {
  ByName models;
  TRY(for_rows_of(db, "SELECT name, created, updated, description FROM registered_models WHERE {}",
                  "name", names, [&](const Statement& row) {
                    RegisteredModelRow& model = models[row.text(0)];
                    model.name = row.text(0);
                    model.created = row.utc(1);
                    model.updated = row.utc(2);
                    model.description = row.text(3);
                  }));
  return models;
}

Result<> add_details(Connection& db, std::span<const std::string> names, ByName& models) {
  TRY(for_rows_of(
      db, "SELECT model, key, value FROM registered_model_tags WHERE {} ORDER BY model, key",
      "model", names, [&](const Statement& row) {
        models[row.text(0)].tags.emplace_back(row.text(1), row.text(2));
      }));
  TRY(for_rows_of(
      db,
      "SELECT model, alias, version FROM registered_model_aliases WHERE {} ORDER BY model, alias",
      "model", names, [&](const Statement& row) {
        models[row.text(0)].aliases.push_back({row.text(1), row.integer(2)});
      }));
  std::vector<VersionKey> keys;
  for (Latest& latest : TRY(latest_of(db, names))) keys.push_back(std::move(latest.key));
  for (ModelVersionRow& version : TRY(model_versions(db, keys)))
    models[version.key.model].latest.push_back(std::move(version));
  return {};
}

tl::unexpected<Error> name_taken(std::string_view name) {
  return fail(Code::kAlreadyExists,
              fmt::format("Registered Model (name={}) already exists.", name));
}

}  // namespace

Result<> create_registered_model(Connection& db, const NewRegisteredModel& model, UtcTime now) {
  const auto made = TRY(
      db.number("INSERT INTO registered_models (name, created, updated, description, last_version) "
                "VALUES (?1, ?2, ?2, ?3, 0) ON CONFLICT (name) DO NOTHING RETURNING 1",
                model.name, now, model.description));
  if (!made) return name_taken(model.name);
  for (const auto& [key, value] : model.tags)
    TRY(set_registered_model_tag(db, model.name, key, value));
  return {};
}

Result<bool> has_registered_model(Connection& db, std::string_view name) {
  return TRY(db.number("SELECT 1 FROM registered_models WHERE name = ?1", name)).has_value();
}

Result<std::optional<RegisteredModelRow>> registered_model(Connection& db,
                                                           const std::string& name) {
  auto models = TRY(registered_models(db, std::span(&name, 1)));
  if (models.empty()) return std::nullopt;
  return std::move(models.front());
}

Result<std::vector<RegisteredModelRow>> registered_models(Connection& db,
                                                          std::span<const std::string> names) {
  ByName models = TRY(rows_of(db, names));
  if (!models.empty()) TRY(add_details(db, names, models));
  std::vector<RegisteredModelRow> rows;
  for (const std::string& name : names) {
    auto found = models.extract(name);
    if (found) rows.push_back(std::move(found.mapped()));
  }
  return rows;
}

Result<> rename_registered_model(Connection& db, std::string_view name, std::string_view new_name,
                                 UtcTime now) {
  if (name != new_name && TRY(has_registered_model(db, new_name))) return name_taken(new_name);
  TRY(db.exec("UPDATE registered_models SET name = ?2, updated = ?3 WHERE name = ?1", name,
              new_name, now));
  return db.exec("UPDATE model_versions SET updated = ?2 WHERE model = ?1", new_name, now);
}

Result<> describe_registered_model(Connection& db, std::string_view name,
                                   std::string_view description, UtcTime now) {
  return db.exec("UPDATE registered_models SET description = ?2, updated = ?3 WHERE name = ?1",
                 name, description, now);
}

Result<> delete_registered_model(Connection& db, std::string_view name) {
  return db.exec("DELETE FROM registered_models WHERE name = ?1", name);
}

Result<std::optional<std::string>> registered_model_tag(Connection& db, std::string_view name,
                                                        std::string_view key) {
  Statement row = TRY(
      db.query("SELECT value FROM registered_model_tags WHERE model = ?1 AND key = ?2", name, key));
  if (!TRY(row.step())) return std::nullopt;
  return row.text(0);
}

Result<> set_registered_model_tag(Connection& db, std::string_view name, std::string_view key,
                                  std::string_view value) {
  return db.exec(
      "INSERT INTO registered_model_tags (model, key, value) VALUES (?1, ?2, ?3) "
      "ON CONFLICT (model, key) DO UPDATE SET value = excluded.value",
      name, key, value);
}

Result<> delete_registered_model_tag(Connection& db, std::string_view name, std::string_view key) {
  return db.exec("DELETE FROM registered_model_tags WHERE model = ?1 AND key = ?2", name, key);
}

Result<> set_alias(Connection& db, std::string_view alias, const VersionKey& version) {
  return db.exec(
      "INSERT INTO registered_model_aliases (model, alias, version) VALUES (?1, ?2, ?3) "
      "ON CONFLICT (model, alias) DO UPDATE SET version = excluded.version",
      version.model, alias, version.version);
}

Result<> delete_alias(Connection& db, std::string_view name, std::string_view alias) {
  return db.exec("DELETE FROM registered_model_aliases WHERE model = ?1 AND alias = ?2", name,
                 alias);
}

Result<std::optional<std::int64_t>> version_of_alias(Connection& db, std::string_view name,
                                                     std::string_view alias) {
  return db.number("SELECT version FROM registered_model_aliases WHERE model = ?1 AND alias = ?2",
                   name, alias);
}

Result<std::vector<VersionKey>> latest_versions(Connection& db, const std::string& name,
                                                std::span<const std::string> stages) {
  std::vector<VersionKey> keys;
  for (Latest& latest : TRY(latest_of(db, std::span(&name, 1)))) {
    const bool wanted = stages.empty() || std::ranges::find(stages, latest.stage) != stages.end();
    if (wanted) keys.push_back(std::move(latest.key));
  }
  return keys;
}

}  // namespace corral::store::tracking
