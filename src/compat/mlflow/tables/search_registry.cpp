// Registered models and their versions.
#include <algorithm>
#include <map>
#include <string_view>

#include "compat/mlflow/tables/registry.h"
#include "compat/mlflow/tables/search.h"
#include "store/search/search_scope.h"

namespace corral::store::tracking {
namespace {

using mlflow::Comparison;
using mlflow::Entity;
using mlflow::Operator;
using sql::Connection;
using sql::Statement;

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

// Drops rows whose model is a prompt, and what the filter says of that; or leaves both.
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
