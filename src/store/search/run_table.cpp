#include "store/search/run_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>

#include "compat/mlflow/wire/times.h"
#include "core/text.h"
#include "store/engine/views.h"
#include "store/search/search.h"

namespace corral::store::tracking {
namespace {

using sql::Statement;
using Kind = RunField::Kind;
using Value = RunField::Value;

// Up to this many are looked up one by one; for more, all are read and the requested ones are
// picked.
constexpr std::size_t kFew = 256;

constexpr std::string_view kRows =
    "SELECT r.key, r.id, r.name, r.experiment, r.workload, r.status, r.started, r.ended, r.newest, "
    "r.host, r.creator FROM runs r WHERE r.lifecycle BETWEEN {} AND {} AND ";

constexpr std::array<std::pair<std::string_view, Kind>, 11> kNames = {{
    {"start", Kind::kStart},
    {"duration", Kind::kDuration},
    {"name", Kind::kName},
    {"status", Kind::kStatus},
    {"experiment", Kind::kExperiment},
    {"workload", Kind::kWorkload},
    {"host", Kind::kHost},
    {"creator", Kind::kCreator},
    {"collocation", Kind::kCollocation},
    {"model", Kind::kModel},
    {"device", Kind::kDevice},
}};
constexpr std::array<std::pair<std::string_view, Kind>, 3> kEntities = {{
    {"metrics.", Kind::kMetric},
    {"params.", Kind::kParam},
    {"tags.", Kind::kTag},
}};
constexpr std::array<std::pair<std::string_view, Value>, 4> kValues = {{
    {".last", Value::kLast},
    {".min", Value::kMin},
    {".max", Value::kMax},
    {".mean", Value::kMean},
}};
constexpr std::array<std::string_view, 2> kCollocationKeys = {"collocation", "corral.collocation"};
constexpr std::array<std::string_view, 2> kModelKeys = {"model", "corral.model"};
constexpr std::array<std::string_view, 3> kDeviceKeys = {"device", "devices", "corral.devices"};

RunField metric_field(std::string_view name) {
  RunField field{.kind = Kind::kMetric, .key = std::string(name)};
  for (const auto& [suffix, value] : kValues) {
    if (!name.ends_with(suffix) || name.size() == suffix.size()) continue;
    field.key.resize(name.size() - suffix.size());
    field.value = value;
    break;
  }
  return field;
}

RunTable::Row run_from_row(const Statement& row) {
  RunTable::Row run;
  run.key = row.integer(0);
  run.id = row.id128<RunId>(1);
  run.name = row.text(2);
  run.experiment = row.integer(3);
  run.workload = row.integer(4);
  run.status = static_cast<RunStatus>(row.integer(5));
  run.start = row.integer(6);
  run.end = row.integer(row.is_null(7) ? 8 : 7);
  run.host = row.text(9);
  run.creator = row.text(10);
  return run;
}

template <class Id>
bool is_wanted(const std::unordered_set<Id>& wanted, const Id& id) {
  return wanted.empty() || wanted.contains(id);
}
template <class Id>
std::unordered_set<Id> to_set(const std::vector<Id>& ids) {
  return {ids.begin(), ids.end()};
}

std::optional<double> value_of(const sql::LatestMetric& metric, Value value) {
  switch (value) {
    case Value::kLast:
      return metric.last;
    case Value::kMin:
      return metric.min;
    case Value::kMax:
      return metric.max;
    case Value::kMean:
      return metric.mean;
    case Value::kLatest:
      break;
  }
  return metric.value;
}

// Seconds, for ordering.
double duration_seconds(const RunTable::Row& run) {
  return mlflow::run_seconds(run.start, run.end).value_or(0);
}

// The numbers, if the texts are all numbers.
Column text_column(const RunTable::Texts& texts) {
  Column column;
  bool numbers = true;
  for (std::uint32_t row = 0; row < texts.size() && numbers; ++row) {
    if (texts[row].empty()) continue;
    const auto number = parse_double(texts[row]);
    numbers = number.has_value();
    if (numbers) column.emplace_back(row, *number);
  }
  if (numbers) return column;
  column.clear();
  for (std::uint32_t row = 0; row < texts.size(); ++row) {
    if (!texts[row].empty()) column.emplace_back(row, texts[row]);
  }
  return column;
}

}  // namespace

std::optional<RunField> parse_run_field(std::string_view text) {
  // PostgreSQL takes none in a text.
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  for (const auto& [name, kind] : kNames) {
    if (text == name) return RunField{.kind = kind, .key = ""};
  }
  for (const auto& [prefix, kind] : kEntities) {
    if (!text.starts_with(prefix) || text.size() == prefix.size()) continue;
    const std::string_view key = text.substr(prefix.size());
    return kind == Kind::kMetric ? metric_field(key)
                                 : RunField{.kind = kind, .key = std::string(key)};
  }
  return std::nullopt;
}

std::optional<double> metric_value(const sql::RunMetrics& metrics, const RunField& field) {
  const sql::LatestMetric* found = sql::find_metric(*metrics, field.key);
  return found != nullptr ? value_of(*found, field.value) : std::nullopt;
}

Result<> RunTable::read(const RunScope& scope) {
  TRY(read_scope(scope));
  std::ranges::sort(rows_, [](const Row& a, const Row& b) {
    return a.start != b.start ? a.start > b.start : a.id > b.id;
  });
  by_key_.reserve(rows_.size());
  for (std::uint32_t row = 0; row < rows_.size(); ++row) by_key_.emplace(rows_[row].key, row);
  if (rows_.empty()) return {};
  const auto [first, last] = std::ranges::minmax(rows_, {}, &Row::experiment);
  first_experiment_ = first.experiment;
  last_experiment_ = last.experiment;
  return {};
}

// Reads by the list that names the fewest runs.
Result<> RunTable::read_scope(const RunScope& scope) {
  const auto experiments = to_set(scope.experiments);
  std::unordered_set<std::int64_t> workloads;
  const std::vector<WorkloadId> workload_ids = [&] {
    const auto ids = to_set(scope.workloads);
    return std::vector<WorkloadId>(ids.begin(), ids.end());
  }();
  TRY(for_rows_of<WorkloadId>(reading_.db, "SELECT key FROM workloads WHERE {}", "id", workload_ids,
                              [&](const Statement& row) { workloads.insert(row.integer(0)); }));
  if (!scope.workloads.empty() && workloads.empty()) return {};
  const auto runs = to_set(scope.runs);
  const auto take = [&](const Statement& row) {
    Row run = run_from_row(row);
    if (is_wanted(experiments, ExperimentId{run.experiment}) &&
        is_wanted(workloads, run.workload) && is_wanted(runs, run.id))
      rows_.push_back(std::move(run));
  };
  // Runs that are named are found in the archive, too.
  const bool archived = !runs.empty() && scope.lifecycle == Lifecycle::kActive;
  const auto first = archived ? Lifecycle::kArchived : scope.lifecycle;
  const std::string rows =
      fmt::format(kRows, static_cast<int>(first), static_cast<int>(scope.lifecycle));
  const std::string one_by_one = rows + "{}";
  if (!runs.empty() && runs.size() <= kFew) {
    const std::vector<RunId> ids(runs.begin(), runs.end());
    return for_rows_of<RunId>(reading_.db, one_by_one, "r.id", ids, take);
  }
  if (!workloads.empty() && workloads.size() <= kFew) {
    const std::vector<std::int64_t> keys(workloads.begin(), workloads.end());
    return for_rows_of<std::int64_t>(reading_.db, one_by_one, "r.workload", keys, take);
  }
  const auto all =
      Bounds{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  const std::vector<Bounds> bounds = scope.experiments.empty()
                                         ? std::vector<Bounds>{all}
                                         : ExperimentScope(scope.experiments).bounds();
  for (const Bounds& some : bounds) {
    Statement row =
        TRY(reading_.db.query(rows + "r.experiment BETWEEN ?1 AND ?2", some.first, some.last));
    while (TRY(row.step())) take(row);
  }
  return {};
}

std::optional<std::uint32_t> RunTable::find_row(std::int64_t key) const {
  const auto found = by_key_.find(key);
  return found != by_key_.end() ? std::optional(found->second) : std::nullopt;
}

template <class Take>
Result<> RunTable::read_facts(codec::FactKind kind, std::string_view key, Take&& take) {
  const auto take_all = [&](Result<Statement> query) -> Result<> {
    Statement statement = TRY(std::move(query));
    while (TRY(statement.step())) {
      if (const auto row = find_row(statement.integer(0))) take(*row, statement);
    }
    return {};
  };
  const std::string_view whole = sql::whole_facts(reading_.db);
  if (rows_.size() > kFew) {
    const std::string all = fmt::format(
        "SELECT f.run, f.key, f.value FROM runs r JOIN {} f ON f.run = r.key AND f.kind = ?3 "
        "WHERE r.experiment BETWEEN ?1 AND ?2",
        whole);
    if (key.empty())
      return take_all(reading_.db.query(all, first_experiment_, last_experiment_, kind));
    return take_all(
        reading_.db.query(all + " AND f.key = ?4", first_experiment_, last_experiment_, kind, key));
  }
  const std::string one =
      fmt::format("SELECT run, key, value FROM {} WHERE run = ?1 AND kind = ?2", whole);
  for (const Row& run : rows_) {
    TRY(take_all(key.empty() ? reading_.db.query(one, run.key, kind)
                             : reading_.db.query(one + " AND key = ?3", run.key, kind, key)));
  }
  return {};
}

Result<const RunTable::Facts*> RunTable::facts() {
  if (facts_) return &*facts_;
  Facts facts;
  for (const Fact kind : {Fact::kParam, Fact::kTag}) {
    std::unordered_map<std::string, FactColumn*> columns;
    TRY(read_facts(static_cast<codec::FactKind>(kind), "",
                   [&](std::uint32_t row, const Statement& fact) {
                     const std::string key = fact.text(1);
                     FactColumn*& column = columns[key];
                     if (column == nullptr) column = &facts[{kind, key}];
                     column->emplace_back(row, fact.text(2));
                   }));
  }
  return &facts_.emplace(std::move(facts));
}

Result<RunTable::FactColumn> RunTable::commands() {
  FactColumn commands;
  TRY(read_facts(codec::FactKind::kInfo, "command", [&](std::uint32_t row, const Statement& fact) {
    commands.emplace_back(row, fact.text(2));
  }));
  return commands;
}

Result<const RunTable::Texts*> RunTable::texts(const RunField& field) {
  const auto known = texts_.find(field);
  if (known != texts_.end()) return &known->second;
  return &texts_.emplace(field, TRY(read_texts(field))).first->second;
}

Result<RunTable::Texts> RunTable::read_texts(const RunField& field) {
  switch (field.kind) {
    case Kind::kWorkload:
      return names_by(
          &Row::workload,
          "SELECT key, name FROM workloads WHERE name <> '' AND experiment BETWEEN ?1 AND ?2");
    case Kind::kExperiment:
      return names_by(&Row::experiment,
                      "SELECT id, name FROM experiments WHERE id BETWEEN ?1 AND ?2");
    case Kind::kCollocation:
      return collocations();
    case Kind::kModel:
      return first_text(kModelKeys);
    case Kind::kDevice:
      return first_text(kDeviceKeys);
    case Kind::kParam:
    case Kind::kTag:
      return fact_texts(field.kind == Kind::kTag ? Fact::kTag : Fact::kParam, field.key);
    default:
      break;
  }
  Texts texts(rows_.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const Row& run = rows_[row];
    texts[row] = field.kind == Kind::kStatus    ? std::string(status_name(run.status))
                 : field.kind == Kind::kHost    ? run.host
                 : field.kind == Kind::kCreator ? run.creator
                                                : run.name;
  }
  return texts;
}

Result<RunTable::Texts> RunTable::fact_texts(Fact kind, const std::string& key) {
  Texts texts(rows_.size());
  if (facts_) {
    const auto found = facts_->find({kind, key});
    if (found == facts_->end()) return texts;
    for (const auto& [row, value] : found->second) texts[row] = value;
    return texts;
  }
  TRY(read_facts(static_cast<codec::FactKind>(kind), key,
                 [&](std::uint32_t row, const Statement& fact) { texts[row] = fact.text(2); }));
  return texts;
}

// Tags before params, the first key before the next.
Result<RunTable::Texts> RunTable::first_text(std::span<const std::string_view> keys) {
  const Facts& all = *TRY(facts());
  Texts texts(rows_.size());
  for (const Fact kind : {Fact::kTag, Fact::kParam}) {
    for (const std::string_view key : keys) {
      const auto found = all.find({kind, std::string(key)});
      if (found == all.end()) continue;
      for (const auto& [row, value] : found->second) {
        if (texts[row].empty()) texts[row] = value;
      }
    }
  }
  return texts;
}

// A run that says nothing is together if its workload, which has a name, has other runs.
Result<RunTable::Texts> RunTable::collocations() {
  Texts texts = TRY(first_text(kCollocationKeys));
  std::unordered_set<std::int64_t> shared;
  Statement row = TRY(reading_.db.query(
      "SELECT w.key FROM runs r JOIN workloads w ON w.key = r.workload WHERE w.name <> '' AND "
      "r.lifecycle <= 0 AND w.experiment BETWEEN ?1 AND ?2 GROUP BY w.key HAVING count(*) > 1",
      first_experiment_, last_experiment_));
  while (TRY(row.step())) shared.insert(row.integer(0));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (texts[i].empty()) texts[i] = shared.contains(rows_[i].workload) ? "together" : "alone";
  }
  return texts;
}

Result<RunTable::Texts> RunTable::names_by(std::int64_t Row::*key, std::string_view query) {
  std::unordered_map<std::int64_t, std::string> names;
  Statement row = TRY(reading_.db.query(query, first_experiment_, last_experiment_));
  while (TRY(row.step())) names.emplace(row.integer(0), row.text(1));
  Texts texts(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto found = names.find(rows_[i].*key);
    if (found != names.end()) texts[i] = found->second;
  }
  return texts;
}

Result<std::vector<sql::RunMetrics>> RunTable::metrics(std::span<const std::uint32_t> rows) {
  std::vector<std::int64_t> keys;
  keys.reserve(rows.size());
  for (const std::uint32_t row : rows) keys.push_back(rows_[row].key);
  return reading_.latest.of(reading_.db, keys);
}

Result<Column> RunTable::metric_column(const RunField& field, const RowSearch::Kept& kept) {
  std::vector<std::uint32_t> rows;
  std::vector<std::int64_t> keys;
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    if (!kept[row]) continue;
    rows.push_back(row);
    keys.push_back(rows_[row].key);
  }
  const auto all = TRY(reading_.latest.named(reading_.db, keys, field.key));
  Column column;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto value = all[i] ? value_of(*all[i], field.value) : std::nullopt;
    if (value) column.emplace_back(rows[i], *value);
  }
  return column;
}

Result<Column> RunTable::column(const RunField& field, const RowSearch::Kept& kept) {
  if (field.kind == Kind::kMetric) return metric_column(field, kept);
  if (field.is_text()) return text_column(*TRY(texts(field)));
  Column column;
  column.reserve(rows_.size());
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    if (field.kind == Kind::kStart) {
      column.emplace_back(row, rows_[row].start);
    } else {
      column.emplace_back(row, duration_seconds(rows_[row]));
    }
  }
  return column;
}

}  // namespace corral::store::tracking
