#include "compat/mlflow/tables/logged_models.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "store/search/search.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;
using sql::Statement;

enum class Kind : std::uint8_t { kParam = 0, kTag = 1 };

using ById = std::unordered_map<std::string, LoggedModelRow>;

LoggedModelRow read_model(const Statement& row) {
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

ModelMetric read_metric(const Statement& row) {
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

Result<ById> read_rows(Connection& db, std::span<const std::string> ids) {
  ById models;
  TRY(for_rows_of(db,
                  "SELECT id, experiment, name, model_type, source_run, status, status_message, "
                  "artifact_uri, created, updated, lifecycle FROM logged_models WHERE {}",
                  "id", ids, [&](const Statement& row) {
                    models.insert_or_assign(row.text(0), read_model(row));
                  }));
  return models;
}

Result<> add_details(Connection& db, std::span<const std::string> ids, ById& models) {
  const auto add_detail = [&](const Statement& row) {
    LoggedModelRow& model = models[row.text(0)];
    const bool tag = static_cast<Kind>(row.integer(1)) == Kind::kTag;
    (tag ? model.tags : model.params).emplace_back(row.text(2), row.text(3));
  };
  TRY(for_rows_of(
      db,
      "SELECT model, kind, key, value FROM logged_model_facts WHERE {} ORDER BY model, kind, key",
      "model", ids, add_detail));
  const auto add_metric = [&](const Statement& row) {
    models[row.text(0)].metrics.push_back(read_metric(row));
  };
  return for_rows_of(
      db,
      "SELECT model, run, key, time, step, dataset_digest, dataset_name, value, is_nan FROM "
      "logged_model_metrics WHERE {} ORDER BY model, run, key, time, step, dataset_digest",
      "model", ids, add_metric);
}

Result<> add_fact(Connection& db, std::string_view id, Kind kind,
                  const std::pair<std::string, std::string>& fact) {
  return db.exec(
      "INSERT INTO logged_model_facts (model, kind, key, value) VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT (model, kind, key) DO UPDATE SET value = excluded.value",
      id, kind, fact.first, fact.second);
}

using mlflow::Entity;

struct Model {
  std::string id, name, type, run, artifact_uri;
  std::int64_t experiment = 0, created = 0, updated = 0;
  ModelStatus status = ModelStatus::kPending;
};

// A value measured for a model: a row of logged_model_metrics.
struct Measured {
  std::uint32_t row = 0;
  std::int64_t time = 0, step = 0;
  std::string run;
  double value = 0;
};

std::string_view status_text(ModelStatus status) {
  constexpr std::array<std::string_view, 4> kTexts = {"UNSPECIFIED", "PENDING", "READY", "FAILED"};
  const auto index = static_cast<std::size_t>(status);
  return kTexts.at(index < kTexts.size() ? index : 0);
}

class ModelColumns {
 public:
  ModelColumns(Connection& db, const LoggedModelSearch& search)
      : db_(db), search_(search), scope_(search.experiments) {}

  Result<> read_models();
  [[nodiscard]] const std::vector<Model>& models() const { return models_; }
  Result<Column> column(const RowSearch::Field& field);
  // Models that have no metric of the datasets asked for.
  Result<std::vector<std::uint32_t>> without_dataset();

 private:
  Column attribute_column(const RowSearch::Field& field) const;
  Result<Column> facts(int kind, const std::string& key);
  Result<std::vector<Measured>> measured(const std::string& key, std::span<const DatasetFilter> of);
  Result<Column> latest(const std::string& key);
  [[nodiscard]] std::vector<DatasetFilter> order_dataset(const std::string& key) const;

  Connection& db_;
  const LoggedModelSearch& search_;
  ExperimentScope scope_;
  std::vector<Model> models_;
  RowsByKey<std::string> rows_;
};

Result<> ModelColumns::read_models() {
  for (const Bounds& some : scope_.bounds()) {
    Statement row =
        TRY(db_.query("SELECT id, name, model_type, source_run, artifact_uri, experiment, status, "
                      "created, updated FROM logged_models WHERE experiment BETWEEN ?1 AND ?2 AND "
                      "lifecycle = 0",
                      some.first, some.last));
    while (TRY(row.step())) {
      if (!scope_.contains(row.integer(5))) continue;
      models_.push_back({.id = row.text(0),
                         .name = row.text(1),
                         .type = row.text(2),
                         .run = row.text(3),
                         .artifact_uri = row.text(4),
                         .experiment = row.integer(5),
                         .created = row.integer(7),
                         .updated = row.integer(8),
                         .status = static_cast<ModelStatus>(row.integer(6))});
    }
  }
  std::ranges::sort(models_, [](const Model& a, const Model& b) {
    return a.created != b.created ? a.created > b.created : a.id < b.id;
  });
  for (std::uint32_t row = 0; row < models_.size(); ++row) rows_.emplace(models_[row].id, row);
  return {};
}

Column ModelColumns::attribute_column(const RowSearch::Field& field) const {
  Column column;
  const bool exact = field.use == RowSearch::Use::kOrder;
  const auto time = [&](std::int64_t ns) { return exact ? ns : whole_ms(ns); };
  const auto add = [&](std::uint32_t row, std::string_view text) {
    if (!text.empty()) column.emplace_back(row, std::string(text));
  };
  for (std::uint32_t row = 0; row < models_.size(); ++row) {
    const Model& model = models_[row];
    if (field.key == "name") {
      add(row, model.name);
    } else if (field.key == "model_id") {
      add(row, model.id);
    } else if (field.key == "model_type") {
      add(row, model.type);
    } else if (field.key == "source_run_id") {
      add(row, model.run);
    } else if (field.key == "artifact_location") {
      add(row, model.artifact_uri);
    } else if (field.key == "status") {
      add(row, status_text(model.status));
    } else if (field.key == "experiment_id") {
      add(row, std::to_string(model.experiment));
    } else if (field.key == "creation_timestamp") {
      column.emplace_back(row, time(model.created));
    } else {
      column.emplace_back(row, time(model.updated));
    }
  }
  return column;
}

Result<Column> ModelColumns::facts(int kind, const std::string& key) {
  Column column;
  for (const Bounds& some : scope_.bounds()) {
    Statement row = TRY(db_.query(
        "SELECT f.model, f.value FROM logged_models m JOIN logged_model_facts f ON f.model = m.id "
        "AND f.kind = ?3 AND f.key = ?4 WHERE m.experiment BETWEEN ?1 AND ?2",
        some.first, some.last, kind, key));
    TRY(add_texts(column, row, rows_));
  }
  return column;
}

bool logged_for(const Statement& row, int name, std::span<const DatasetFilter> datasets) {
  return datasets.empty() || std::ranges::any_of(datasets, [&](const DatasetFilter& dataset) {
           return row.text(name) == dataset.name &&
                  (dataset.digest.empty() || row.text(name + 1) == dataset.digest);
         });
}

Result<std::vector<Measured>> ModelColumns::measured(const std::string& key,
                                                     std::span<const DatasetFilter> of) {
  std::vector<Measured> all;
  for (const Bounds& some : scope_.bounds()) {
    Statement row = TRY(db_.query(
        "SELECT x.model, x.time, x.step, x.run, x.value, x.is_nan, x.dataset_name, "
        "x.dataset_digest FROM logged_models m JOIN logged_model_metrics x ON x.model = m.id AND "
        "x.key = ?3 WHERE m.experiment BETWEEN ?1 AND ?2",
        some.first, some.last, key));
    while (TRY(row.step())) {
      const auto known = rows_.find(row.text(0));
      if (known == rows_.end() || !logged_for(row, 6, of)) continue;
      const double value =
          row.integer(5) != 0 ? std::numeric_limits<double>::quiet_NaN() : row.real(4);
      all.push_back({known->second, row.integer(1), row.integer(2), row.text(3), value});
    }
  }
  return all;
}

// The dataset that the order by this metric goes by.
std::vector<DatasetFilter> ModelColumns::order_dataset(const std::string& key) const {
  const auto& orders = search_.search.orders;
  for (std::size_t i = 0; i < orders.size() && i < search_.order_datasets.size(); ++i) {
    const DatasetFilter& dataset = search_.order_datasets[i];
    if (orders[i].entity == Entity::kMetric && orders[i].key == key && !dataset.name.empty())
      return {dataset};
  }
  return {};
}

// Keeps one value per model: the latest by time and step; ties go to the lowest run.
Result<Column> ModelColumns::latest(const std::string& key) {
  auto all = TRY(measured(key, order_dataset(key)));
  std::ranges::sort(all, [](const Measured& a, const Measured& b) {
    return std::tie(a.row, b.time, b.step, a.run) < std::tie(b.row, a.time, a.step, b.run);
  });
  Column column;
  for (const Measured& one : all) {
    if (column.empty() || column.back().row != one.row) column.emplace_back(one.row, one.value);
  }
  return column;
}

Result<Column> ModelColumns::column(const RowSearch::Field& field) {
  switch (field.entity) {
    case Entity::kParam:
      return facts(0, field.key);
    case Entity::kTag:
      return facts(1, field.key);
    case Entity::kMetric: {
      if (field.use == RowSearch::Use::kOrder) return latest(field.key);
      Column column;
      for (const Measured& one : TRY(measured(field.key, search_.datasets)))
        column.emplace_back(one.row, one.value);
      return column;
    }
    default:
      return attribute_column(field);
  }
}

Result<std::vector<std::uint32_t>> ModelColumns::without_dataset() {
  std::vector<bool> with(models_.size(), false);
  for (const Bounds& some : scope_.bounds()) {
    Statement row = TRY(
        db_.query("SELECT DISTINCT x.model, x.dataset_name, x.dataset_digest FROM logged_models m "
                  "JOIN logged_model_metrics x ON x.model = m.id WHERE m.experiment BETWEEN ?1 AND "
                  "?2",
                  some.first, some.last));
    while (TRY(row.step())) {
      const auto known = rows_.find(row.text(0));
      if (known != rows_.end() && logged_for(row, 1, search_.datasets)) with[known->second] = true;
    }
  }
  std::vector<std::uint32_t> without;
  for (std::uint32_t row = 0; row < with.size(); ++row) {
    if (!with[row]) without.push_back(row);
  }
  return without;
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
  ById models = TRY(read_rows(db, ids));
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

Result<Found<std::string>> search_logged_models(Connection& db, const LoggedModelSearch& search) {
  const Search& asked = search.search;
  ModelColumns columns(db, search);
  TRY(columns.read_models());
  RowSearch rows(
      columns.models().size(),
      [&](const RowSearch::Field& field, const RowSearch::Kept&) { return columns.column(field); });
  const bool by_metric = std::ranges::any_of(
      asked.filter, [](const auto& comparison) { return comparison.entity == Entity::kMetric; });
  if (!search.datasets.empty() && !by_metric) {
    for (const std::uint32_t row : TRY(columns.without_dataset())) rows.drop(row);
  }
  TRY(rows.keep(asked.filter));
  const auto page = TRY(rows.page(asked.orders, asked.paging));
  Found<std::string> found{{}, page.more};
  for (const std::uint32_t row : page.rows) found.rows.push_back(columns.models()[row].id);
  return found;
}

}  // namespace corral::store::tracking
