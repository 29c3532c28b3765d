#include "compat/mlflow/tables/search_experiments.h"

#include <algorithm>
#include <string>

#include "store/search/search.h"

namespace corral::store::tracking {
namespace {

using mlflow::Entity;
using sql::Connection;
using sql::Statement;

Column attribute_column(const std::vector<ExperimentRow>& experiments,
                        const RowSearch::Field& field) {
  Column column;
  const bool exact = field.use == RowSearch::Use::kOrder;
  const auto time = [&](UtcTime at) { return exact ? ns_of(at) : whole_ms(ns_of(at)); };
  for (std::uint32_t row = 0; row < experiments.size(); ++row) {
    const ExperimentRow& experiment = experiments[row];
    if (field.key == "name") {
      column.emplace_back(row, experiment.name);
    } else if (field.key == "creation_time") {
      column.emplace_back(row, time(experiment.created));
    } else if (field.key == "last_update_time") {
      column.emplace_back(row, time(experiment.updated));
    } else if (exact) {
      column.emplace_back(row, experiment.id.value);
    } else {
      column.emplace_back(row, std::to_string(experiment.id.value));
    }
  }
  return column;
}

Result<> read_tags(Connection& db, std::vector<ExperimentRow>& experiments) {
  if (experiments.empty()) return {};
  std::unordered_map<std::int64_t, Tags*> by_id;
  for (ExperimentRow& experiment : experiments)
    by_id.emplace(experiment.id.value, &experiment.tags);
  const auto [first, last] = std::ranges::minmax(experiments, {}, &ExperimentRow::id);
  Statement row = TRY(
      db.query("SELECT experiment, key, value FROM experiment_tags WHERE experiment BETWEEN ?1 AND "
               "?2 ORDER BY experiment, key",
               first.id, last.id));
  while (TRY(row.step())) {
    if (const auto known = by_id.find(row.integer(0)); known != by_id.end())
      known->second->emplace_back(row.text(1), row.text(2));
  }
  return {};
}

}  // namespace

Result<Found<ExperimentRow>> search_experiments(Connection& db, const ExperimentSearch& search) {
  const Bounds lifecycle = lifecycles(search.view);
  std::vector<ExperimentRow> all = TRY(experiments(db, static_cast<Lifecycle>(lifecycle.first),
                                                   static_cast<Lifecycle>(lifecycle.last)));
  if (!search.search.orders.empty())
    std::ranges::sort(all, std::ranges::greater(), &ExperimentRow::id);
  RowsByKey<std::int64_t> by_id;
  for (std::uint32_t row = 0; row < all.size(); ++row) by_id.emplace(all[row].id.value, row);
  RowSearch rows(
      all.size(), [&](const RowSearch::Field& field, const RowSearch::Kept&) -> Result<Column> {
        if (field.entity == Entity::kAttribute) return attribute_column(all, field);
        Column column;
        Statement row = TRY(
            db.query("SELECT experiment, value FROM experiment_tags WHERE key = ?1", field.key));
        TRY(add_texts(column, row, by_id));
        return column;
      });
  TRY(rows.keep(search.search.filter));
  const auto page = TRY(rows.page(search.search.orders, search.search.paging));
  Found<ExperimentRow> found{{}, page.more};
  for (const std::uint32_t row : page.rows) found.rows.push_back(std::move(all[row]));
  TRY(read_tags(db, found.rows));
  return found;
}

}  // namespace corral::store::tracking
