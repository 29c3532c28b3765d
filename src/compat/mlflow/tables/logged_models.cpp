#include "compat/mlflow/tables/logged_models.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "store/search/many.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;
using sql::Statement;

enum class Kind : std::uint8_t { kParam = 0, kTag = 1 };

using ById = std::unordered_map<std::string, LoggedModelRow>;

LoggedModelRow model_of(const Statement& row) {
  LoggedModelRow model;
  model.id = row.text(0);
  model.experiment = ExperimentId{row.integer(1)};
  model.name = row.text(2);
  model.model_type = row.text(3);
  model.run_id = row.text(4);
  model.status = static_cast<ModelStatus>(row.integer(5));
  model.status_message = row.text(6);
  model.artifact_uri = row.text(7);
  model.created = row.utc(8);
  model.updated = row.utc(9);
  model.lifecycle = static_cast<Lifecycle>(row.integer(10));
  return model;
}

ModelMetric metric_of(const Statement& row) {
  ModelMetric metric;
  metric.model_id = row.text(0);
  metric.run_id = row.text(1);
  metric.key = row.text(2);
  metric.time = row.utc(3);
  metric.step = row.integer(4);
  metric.dataset_digest = row.text(5);
  metric.dataset_name = row.text(6);
  metric.value = row.integer(8) != 0 ? std::numeric_limits<double>::quiet_NaN() : row.real(7);
  return metric;
}

Result<ById> rows_of(Connection& db, std::span<const std::string> ids) {
  ById models;
  TRY(for_rows_of(db,
                  "SELECT id, experiment, name, model_type, source_run, status, status_message, "
                  "artifact_uri, created, updated, lifecycle FROM logged_models WHERE {}",
                  "id", ids, [&](const Statement& row) {
                    models.insert_or_assign(row.text(0), model_of(row));
                  }));
  return models;
}

Result<> add_details(Connection& db, std::span<const std::string> ids, ById& models) {
  TRY(for_rows_of(
      db,
      "SELECT model, kind, key, value FROM logged_model_facts WHERE {} ORDER BY model, kind, key",
      "model", ids, [&](const Statement& row) {
        LoggedModelRow& model = models[row.text(0)];
        const bool tag = static_cast<Kind>(row.integer(1)) == Kind::kTag;
        (tag ? model.tags : model.params).emplace_back(row.text(2), row.text(3));
      }));
  return for_rows_of(
      db,
      "SELECT model, run, key, time, step, dataset_digest, dataset_name, value, is_nan FROM "
      "logged_model_metrics WHERE {} ORDER BY model, run, key, time, step, dataset_digest",
      "model", ids,
      [&](const Statement& row) { models[row.text(0)].metrics.push_back(metric_of(row)); });
}

Result<> add_fact(Connection& db, std::string_view id, Kind kind,
                  const std::pair<std::string, std::string>& fact) {
  return db.exec(
      "INSERT INTO logged_model_facts (model, kind, key, value) VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT (model, kind, key) DO UPDATE SET value = excluded.value",
      id, kind, fact.first, fact.second);
}

}  // namespace

Result<std::string> create_logged_model(Connection& db, const NewLoggedModel& model, UtcTime now) {
  const std::string id = "m-" + Id128<struct LoggedModelTag>::random().hex();
  TRY(db.exec(
      "INSERT INTO logged_models (id, experiment, name, model_type, source_run, status, "
      "status_message, artifact_uri, created, updated, lifecycle) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
      "'', ?7, ?8, ?8, ?9)",
      id, model.experiment, model.name, model.model_type, model.run_id, ModelStatus::kPending,
      fmt::format("{}/models/{}/artifacts", model.experiment_location, id), now,
      Lifecycle::kActive));
  for (const auto& param : model.params) TRY(add_fact(db, id, Kind::kParam, param));
  for (const auto& tag : model.tags) TRY(add_fact(db, id, Kind::kTag, tag));
  return id;
}

Result<std::optional<LoggedModelRow>> logged_model(Connection& db, const std::string& id) {
  auto models = TRY(logged_models(db, std::span(&id, 1)));
  if (models.empty()) return std::nullopt;
  return std::move(models.front());
}

Result<std::vector<LoggedModelRow>> logged_models(Connection& db,
                                                  std::span<const std::string> ids) {
  ById models = TRY(rows_of(db, ids));
  if (!models.empty()) TRY(add_details(db, ids, models));
  std::vector<LoggedModelRow> rows;
  for (const std::string& id : ids) {
    auto found = models.extract(id);
    if (found) rows.push_back(std::move(found.mapped()));
  }
  return rows;
}

Result<bool> has_logged_model(Connection& db, std::string_view id) {
  return TRY(db.number("SELECT 1 FROM logged_models WHERE id = ?1", id)).has_value();
}

Result<> set_model_status(Connection& db, std::string_view id, ModelStatus status, UtcTime now) {
  return db.exec("UPDATE logged_models SET status = ?2, updated = ?3 WHERE id = ?1", id, status,
                 now);
}

Result<> delete_logged_model(Connection& db, std::string_view id, UtcTime now) {
  return db.exec("UPDATE logged_models SET lifecycle = ?2, updated = ?3 WHERE id = ?1", id,
                 Lifecycle::kDeleted, now);
}

Result<> add_model_params(Connection& db, std::string_view id, const Tags& params) {
  for (const auto& [key, value] : params) {
    TRY(
        db.exec("INSERT INTO logged_model_facts (model, kind, key, value) VALUES (?1, ?2, ?3, ?4) "
                "ON CONFLICT (model, kind, key) DO NOTHING",
                id, Kind::kParam, key, value));
    Statement row = TRY(
        db.query("SELECT value FROM logged_model_facts WHERE model = ?1 AND kind = ?2 AND key = ?3",
                 id, Kind::kParam, key));
    if (TRY(row.step()) && row.text(0) != value) {
      return fail(
          Code::kUnprocessable,
          fmt::format("Changing param values is not allowed. Param with key='{}' was already "
                      "logged with value='{}' for model ID='{}'. Attempted logging new value '{}'.",
                      key, row.text(0), id, value));
    }
  }
  return {};
}

Result<> set_model_tags(Connection& db, std::string_view id, const Tags& tags) {
  for (const auto& tag : tags) TRY(add_fact(db, id, Kind::kTag, tag));
  return {};
}

Result<bool> delete_model_tag(Connection& db, std::string_view id, std::string_view key) {
  return TRY(db.number("DELETE FROM logged_model_facts WHERE model = ?1 AND kind = ?2 AND key = "
                       "?3 RETURNING 1",
                       id, Kind::kTag, key))
      .has_value();
}

Result<> store_model_metrics(Connection& db, std::string_view run_id,
                             std::span<const ModelMetric> metrics) {
  std::string_view known;
  for (const ModelMetric& metric : metrics) {
    if (metric.model_id != known && !TRY(has_logged_model(db, metric.model_id))) {
      return fail(Code::kNotFound,
                  fmt::format("Logged model with ID '{}' not found.", metric.model_id));
    }
    known = metric.model_id;
    const bool nan = std::isnan(metric.value);
    TRY(
        db.exec("INSERT INTO logged_model_metrics (model, run, key, time, step, dataset_digest, "
                "dataset_name, value, is_nan) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "
                "ON CONFLICT (model, run, key, time, step, dataset_digest) DO NOTHING",
                metric.model_id, run_id, metric.key, metric.time, metric.step,
                metric.dataset_digest, metric.dataset_name, nan ? 0.0 : metric.value, nan));
  }
  return {};
}

}  // namespace corral::store::tracking
