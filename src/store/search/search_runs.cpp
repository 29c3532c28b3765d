#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "store/engine/views.h"
#include "store/read/latest_metrics.h"
#include "store/search/runs.h"
#include "store/search/search.h"

namespace corral::store::tracking {
namespace {

using mlflow::Entity;
using sql::Connection;
using sql::Statement;

struct Candidate {
  std::int64_t key = 0;
  std::int64_t start = 0;
  RunId id;
};

std::string_view status_text(ClientStatus status) {
  constexpr std::array<std::string_view, 6> kNames = {"",         "RUNNING", "SCHEDULED",
                                                      "FINISHED", "FAILED",  "KILLED"};
  return kNames.at(static_cast<std::size_t>(status));
}

class RunColumns {
 public:
  RunColumns(sql::Reading& reading, const RunSearch& search)
      : reading_(reading), scope_(search.experiments), lifecycle_(lifecycles(search.view)) {}

  Result<> read_candidates();
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  Result<Column> column(const RowSearch::Field& field, const RowSearch::Kept& kept);

  // A page of all runs, straight from the index.
  Result<Found<std::int64_t>> newest(const Paging& paging);

 private:
  Column attribute_column(const RowSearch::Field& field);
  Result<> read_attributes(const RowSearch::Kept& kept);
  Result<Column> facts(Fact kind, const std::string& key);
  Result<Column> datasets(const std::string& key);
  Result<Column> metrics(const std::string& key, const RowSearch::Kept& kept);

  sql::Reading& reading_;
  ExperimentScope scope_;
  Bounds lifecycle_;
  std::vector<Candidate> candidates_;
  RowsByKey<std::int64_t> rows_;
  std::vector<RunRow> attributes_;
};

Result<> RunColumns::read_candidates() {
  for (const Bounds& some : scope_.bounds()) {
    Statement row = TRY(reading_.db.query(
        "SELECT key, started, id, experiment FROM runs WHERE experiment BETWEEN ?1 AND ?2 AND "
        "lifecycle BETWEEN ?3 AND ?4",
        some.first, some.last, lifecycle_.first, lifecycle_.last));
    while (TRY(row.step())) {
      if (scope_.contains(row.integer(3)))
        candidates_.push_back({row.integer(0), row.integer(1), row.id128<RunId>(2)});
    }
  }
  std::ranges::sort(candidates_, [](const Candidate& a, const Candidate& b) {
    return a.start != b.start ? a.start > b.start : a.id < b.id;
  });
  rows_.reserve(candidates_.size());
  for (std::uint32_t row = 0; row < candidates_.size(); ++row)
    rows_.emplace(candidates_[row].key, row);
  return {};
}

Result<Column> RunColumns::column(const RowSearch::Field& field, const RowSearch::Kept& kept) {
  switch (field.entity) {
    case Entity::kParam:
      return facts(Fact::kParam, field.key);
    case Entity::kTag:
      return facts(Fact::kTag, field.key);
    case Entity::kDataset:
      return datasets(field.key);
    case Entity::kMetric:
      return metrics(field.key, kept);
    default:
      break;
  }
  if (field.key != "run_id" && field.key != "start_time") TRY(read_attributes(kept));
  return attribute_column(field);
}

Result<> RunColumns::read_attributes(const RowSearch::Kept& kept) {
  if (!attributes_.empty()) return {};
  std::vector<std::int64_t> keys;
  for (std::size_t row = 0; row < candidates_.size(); ++row) {
    if (kept[row]) keys.push_back(candidates_[row].key);
  }
  constexpr std::size_t kFew = 1000;
  if (keys.size() <= kFew) {
    attributes_ = TRY(runs(reading_.db, keys));
    return {};
  }
  for (const Bounds& some : scope_.bounds()) {
    for (RunRow& run : TRY(runs_between(reading_.db, {some.first}, {some.last})))
      attributes_.push_back(std::move(run));
  }
  std::erase_if(attributes_, [&](const RunRow& run) { return !rows_.contains(run.key); });
  return {};
}

Column RunColumns::attribute_column(const RowSearch::Field& field) {
  Column column;
  const bool exact = field.use == RowSearch::Use::kOrder;
  const auto time = [&](std::int64_t ns) { return exact ? ns : whole_ms(ns); };
  if (field.key == "run_id" || field.key == "start_time") {
    for (std::uint32_t row = 0; row < candidates_.size(); ++row) {
      if (field.key == "run_id") {
        column.emplace_back(row, candidates_[row].id.hex());
      } else {
        column.emplace_back(row, time(candidates_[row].start));
      }
    }
    return column;
  }
  for (const RunRow& run : attributes_) {
    const std::uint32_t row = rows_.at(run.key);
    if (field.key == "status") {
      column.emplace_back(row, std::string(status_text(run.status)));
    } else if (field.key == "run_name") {
      column.emplace_back(row, run.name);
    } else if (field.key == "user_id") {
      column.emplace_back(row, run.user_id);
    } else if (field.key == "artifact_uri") {
      column.emplace_back(row, run.artifact_uri);
    } else if (field.key == "end_time" && run.end) {
      column.emplace_back(row, time(ns_of(*run.end)));
    }
  }
  return column;
}

Result<Column> RunColumns::facts(Fact kind, const std::string& key) {
  Column column;
  for (const Bounds& some : scope_.bounds()) {
    Statement row = TRY(reading_.db.query(
        fmt::format("SELECT f.run, f.value FROM runs r JOIN {} f ON f.run = r.key AND f.kind = ?3 "
                    "AND f.key = ?4 WHERE r.experiment BETWEEN ?1 AND ?2",
                    sql::whole_facts(reading_.db)),
        some.first, some.last, kind, key));
    TRY(add_texts(column, row, rows_));
  }
  return column;
}

Result<Column> RunColumns::datasets(const std::string& key) {
  std::string_view query =
      "SELECT i.run, i.context FROM runs r JOIN run_inputs i ON i.run = r.key WHERE r.experiment "
      "BETWEEN ?1 AND ?2";
  if (key == "name") {
    query =
        "SELECT i.run, d.name FROM runs r JOIN run_inputs i ON i.run = r.key JOIN datasets d ON "
        "d.id = i.dataset WHERE r.experiment BETWEEN ?1 AND ?2";
  } else if (key == "digest") {
    query =
        "SELECT i.run, d.digest FROM runs r JOIN run_inputs i ON i.run = r.key JOIN datasets d ON "
        "d.id = i.dataset WHERE r.experiment BETWEEN ?1 AND ?2";
  }
  Column column;
  for (const Bounds& some : scope_.bounds()) {
    Statement row = TRY(reading_.db.query(query, some.first, some.last));
    TRY(add_texts(column, row, rows_, key == "context" ? Empty::kLeaveOut : Empty::kKeep));
  }
  return column;
}

Result<Column> RunColumns::metrics(const std::string& key, const RowSearch::Kept& kept) {
  std::vector<std::uint32_t> rows;
  std::vector<std::int64_t> keys;
  for (std::uint32_t row = 0; row < candidates_.size(); ++row) {
    if (!kept[row]) continue;
    rows.push_back(row);
    keys.push_back(candidates_[row].key);
  }
  const auto all = TRY(reading_.latest.named(reading_.db, keys, key));
  Column column;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (all[i]) column.emplace_back(rows[i], all[i]->value);
  }
  return column;
}

Result<Found<std::int64_t>> RunColumns::newest(const Paging& paging) {
  Found<std::int64_t> found;
  const Bounds only = scope_.bounds().front();
  found.rows = TRY(reading_.db.numbers(
      "SELECT key FROM runs WHERE experiment = ?1 AND lifecycle BETWEEN ?2 AND ?3 ORDER BY started "
      "DESC, id LIMIT ?4 OFFSET ?5",
      only.first, lifecycle_.first, lifecycle_.last, paging.limit + 1, paging.offset));
  found.more = static_cast<std::int64_t>(found.rows.size()) > paging.limit;
  if (found.more) found.rows.pop_back();
  return found;
}

// As the candidates are ordered anyway.
bool newest_first(const std::vector<mlflow::Order>& orders) {
  return orders.empty() ||
         (orders.size() == 1 &&
          orders.front() == mlflow::Order{Entity::kAttribute, "start_time", false});
}

}  // namespace

Result<Found<std::int64_t>> search_runs(sql::Reading& reading, const RunSearch& search) {
  const Search& asked = search.search;
  if (search.experiments.empty()) return Found<std::int64_t>();
  RunColumns columns(reading, search);
  if (asked.filter.empty() && newest_first(asked.orders) && search.experiments.size() == 1)
    return columns.newest(asked.paging);
  TRY(columns.read_candidates());
  RowSearch rows(columns.candidates().size(),
                 [&](const RowSearch::Field& field, const RowSearch::Kept& kept) {
                   return columns.column(field, kept);
                 });
  TRY(rows.keep(asked.filter));
  const auto page = TRY(rows.page(asked.orders, asked.paging));
  Found<std::int64_t> found{{}, page.more};
  for (const std::uint32_t row : page.rows) found.rows.push_back(columns.candidates()[row].key);
  return found;
}

}  // namespace corral::store::tracking
