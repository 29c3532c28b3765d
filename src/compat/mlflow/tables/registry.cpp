#include "compat/mlflow/tables/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "store/search/search.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;
using sql::Statement;

// The newest version of each stage of models.
struct Latest {
  VersionKey key;
  std::string stage;
};

Result<std::vector<Latest>> read_latest(Connection& db, std::span<const std::string> names) {
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

Result<ByName> read_rows(Connection& db, std::span<const std::string> names) {
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
  const auto add_tag = [&](const Statement& row) {
    models[row.text(0)].tags.emplace_back(row.text(1), row.text(2));
  };
  TRY(for_rows_of(
      db, "SELECT model, key, value FROM registered_model_tags WHERE {} ORDER BY model, key",
      "model", names, add_tag));
  const auto add_alias = [&](const Statement& row) {
    models[row.text(0)].aliases.push_back({row.text(1), row.integer(2)});
  };
  TRY(for_rows_of(
      db,
      "SELECT model, alias, version FROM registered_model_aliases WHERE {} ORDER BY model, alias",
      "model", names, add_alias));
  std::vector<VersionKey> keys;
  for (Latest& latest : TRY(read_latest(db, names))) keys.push_back(std::move(latest.key));
  for (ModelVersionRow& version : TRY(model_versions(db, keys)))
    models[version.key.model].latest.push_back(std::move(version));
  return {};
}

tl::unexpected<Error> name_taken(std::string_view name) {
  return fail(Code::kAlreadyExists,
              fmt::format("Registered Model (name={}) already exists.", name));
}

using ByKey = std::map<VersionKey, ModelVersionRow>;

ModelVersionRow read_version(const Statement& row) {
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

Result<ByKey> read_rows(Connection& db, std::span<const VersionKey> keys) {
  ByKey versions;
  TRY(for_rows_of(
      db,
      "SELECT v.model, v.version, v.created, v.updated, v.description, v.user_id, v.stage, "
      "v.source, v.storage_location, v.source_run, v.run_link, v.model_id, v.status, "
      "v.status_message FROM model_versions v WHERE {}",
      "v", keys, [&](const Statement& row) {
        ModelVersionRow version = read_version(row);
        VersionKey key = version.key;
        versions.insert_or_assign(std::move(key), std::move(version));
      }));
  return versions;
}

// The transaction's hold on a model's row keeps others from its versions, too.
Result<> touch_model(Connection& db, std::string_view name, UtcTime now) {
  return db.exec("UPDATE registered_models SET updated = ?2 WHERE name = ?1", name, now);
}

using mlflow::Comparison;
using mlflow::Entity;
using mlflow::Operator;

bool about_prompts(const Comparison& comparison) {
  return comparison.entity == Entity::kTag && comparison.key == kPromptTag;
}

bool wants_prompts(const std::vector<Comparison>& filter) {
  const auto about = std::ranges::find_if(filter, about_prompts);
  if (about == filter.end()) return false;
  const auto* value = std::get_if<std::string>(&about->value);
  if (value == nullptr) return false;
  const auto is = [&](std::string_view text) { return like(*value, text, false); };
  return (about->op == Operator::kEqual && is("true")) ||
         (about->op == Operator::kNotEqual && is("false"));
}

// Drops rows whose model is a prompt, and the filter's conditions about prompts; or leaves both.
template <class ModelOf>
Result<std::vector<Comparison>> without_prompts(Statement prompts, const Search& search,
                                                RowSearch& rows, ModelOf&& rows_of_model) {
  std::vector<Comparison> filter = search.filter;
  if (wants_prompts(filter)) return filter;
  std::erase_if(filter, about_prompts);
  while (TRY(prompts.step())) {
    for (const std::uint32_t row : rows_of_model(prompts.text(0))) rows.drop(row);
  }
  return filter;
}

struct Model {
  std::string name;
  std::int64_t created = 0, updated = 0;
};

struct Version {
  VersionKey key;
  std::int64_t created = 0, updated = 0;
  std::string source, run;
};

Column version_column(const std::vector<Version>& versions, std::string_view key) {
  Column column;
  for (std::uint32_t row = 0; row < versions.size(); ++row) {
    const Version& version = versions[row];
    if (key == "name") {
      column.emplace_back(row, version.key.model);
    } else if (key == "version_number") {
      column.emplace_back(row, version.key.version);
    } else if (key == "source_path") {
      column.emplace_back(row, version.source);
    } else if (key == "creation_timestamp") {
      column.emplace_back(row, version.created);
    } else if (key == "last_updated_timestamp") {
      column.emplace_back(row, version.updated);
    } else if (!version.run.empty()) {
      column.emplace_back(row, version.run);
    }
  }
  return column;
}

Result<std::vector<Version>> read_versions(Connection& db, bool last_changed_first) {
  std::vector<Version> versions;
  Statement row =
      TRY(db.query("SELECT model, version, created, updated, source, source_run FROM "
                   "model_versions ORDER BY model, version DESC"));
  while (TRY(row.step())) {
    versions.push_back({.key = {row.text(0), row.integer(1)},
                        .created = row.integer(2),
                        .updated = row.integer(3),
                        .source = row.text(4),
                        .run = row.text(5)});
  }
  if (last_changed_first)
    std::ranges::stable_sort(versions, std::ranges::greater(), &Version::updated);
  return versions;
}

Result<Column> version_tags(Connection& db, const std::string& key,
                            const std::map<VersionKey, std::uint32_t>& rows) {
  Column column;
  Statement row =
      TRY(db.query("SELECT model, version, value FROM model_version_tags WHERE key = ?1", key));
  while (TRY(row.step())) {
    const auto known = rows.find({row.text(0), row.integer(1)});
    if (known != rows.end()) column.emplace_back(known->second, row.text(2));
  }
  return column;
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
  ByName models = TRY(read_rows(db, names));
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
  for (Latest& latest : TRY(read_latest(db, std::span(&name, 1)))) {
    const bool wanted = stages.empty() || std::ranges::find(stages, latest.stage) != stages.end();
    if (wanted) keys.push_back(std::move(latest.key));
  }
  return keys;
}

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
  ByKey versions = TRY(read_rows(db, keys));
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

Result<Found<std::string>> search_registered_models(Connection& db, const Search& search) {
  std::vector<Model> models;
  RowsByKey<std::string> by_name;
  {
    Statement row =
        TRY(db.query("SELECT name, created, updated FROM registered_models ORDER BY name"));
    while (TRY(row.step())) {
      by_name.emplace(row.text(0), static_cast<std::uint32_t>(models.size()));
      models.push_back({row.text(0), row.integer(1), row.integer(2)});
    }
  }
  const auto tags = [&](std::string_view key) -> Result<Column> {
    Column column;
    Statement row =
        TRY(db.query("SELECT model, value FROM registered_model_tags WHERE key = ?1", key));
    TRY(add_texts(column, row, by_name));
    return column;
  };
  RowSearch rows(models.size(),
                 [&](const RowSearch::Field& field, const RowSearch::Kept&) -> Result<Column> {
                   if (field.entity == Entity::kTag) return tags(field.key);
                   Column column;
                   for (std::uint32_t row = 0; row < models.size(); ++row) {
                     if (field.key == "name") {
                       column.emplace_back(row, models[row].name);
                     } else {
                       column.emplace_back(row, models[row].updated);
                     }
                   }
                   return column;
                 });
  Statement prompts = TRY(db.query(
      "SELECT model FROM registered_model_tags WHERE key = ?1 AND value = 'true'", kPromptTag));
  const auto filter =
      TRY(without_prompts(std::move(prompts), search, rows,
                          [&](const std::string& name) { return std::vector{by_name.at(name)}; }));
  TRY(rows.keep(filter));
  const auto page = TRY(rows.page(search.orders, search.paging));
  Found<std::string> found{{}, page.more};
  for (const std::uint32_t row : page.rows) found.rows.push_back(std::move(models[row].name));
  return found;
}

Result<Found<VersionKey>> search_model_versions(Connection& db, const Search& search) {
  const std::vector<Version> versions = TRY(read_versions(db, search.orders.empty()));
  std::map<VersionKey, std::uint32_t> by_key;
  for (std::uint32_t row = 0; row < versions.size(); ++row) by_key.emplace(versions[row].key, row);
  RowSearch rows(versions.size(),
                 [&](const RowSearch::Field& field, const RowSearch::Kept&) -> Result<Column> {
                   if (field.entity == Entity::kTag) return version_tags(db, field.key, by_key);
                   return version_column(versions, field.key);
                 });
  // A model is a prompt if one of its versions is.
  const auto of_model = [&](const std::string& name) {
    std::vector<std::uint32_t> all;
    for (auto at = by_key.lower_bound({name, INT64_MIN});
         at != by_key.end() && at->first.model == name; ++at)
      all.push_back(at->second);
    return all;
  };
  Statement prompts = TRY(
      db.query("SELECT DISTINCT model FROM model_version_tags WHERE key = ?1 AND value = 'true'",
               kPromptTag));
  const auto filter = TRY(without_prompts(std::move(prompts), search, rows, of_model));
  TRY(rows.keep(filter));
  const auto page = TRY(rows.page(search.orders, search.paging));
  Found<VersionKey> found{{}, page.more};
  for (const std::uint32_t row : page.rows) found.rows.push_back(versions[row].key);
  return found;
}

}  // namespace corral::store::tracking
