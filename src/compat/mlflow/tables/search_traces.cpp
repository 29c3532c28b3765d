#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "compat/mlflow/tables/search.h"
#include "compat/mlflow/tables/traces.h"
#include "store/search/search_scope.h"

namespace corral::store::tracking {
namespace {

using mlflow::Comparison;
using mlflow::Entity;
using mlflow::Operator;
using sql::Connection;
using sql::Statement;

struct Trace {
  std::string id, run, client_request_id;
  std::int64_t experiment = 0, started = 0;
  TraceState state = TraceState::kUnspecified;
  std::optional<std::int64_t> duration;
};

std::string_view state_text(TraceState state) {
  switch (state) {
    case TraceState::kOk:
      return "OK";
    case TraceState::kError:
      return "ERROR";
    case TraceState::kInProgress:
      return "IN_PROGRESS";
    case TraceState::kUnspecified:
      break;
  }
  return "STATE_UNSPECIFIED";
}

// Times that the filter leaves, in ns and not exactly: what it means is looked at again.
Bounds started_between(const std::vector<Comparison>& filter) {
  constexpr std::int64_t kPerMs = 1'000'000;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kPerMs - 1;
  Bounds bounds{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  for (const Comparison& comparison : filter) {
    const auto* ms = std::get_if<std::int64_t>(&comparison.value);
    if (comparison.entity != Entity::kAttribute || comparison.key != "timestamp_ms" ||
        ms == nullptr)
      continue;
    const std::int64_t at = std::clamp(*ms, -kMost, kMost);
    const bool from =
        comparison.op == Operator::kGreater || comparison.op == Operator::kGreaterEqual;
    const bool to = comparison.op == Operator::kLess || comparison.op == Operator::kLessEqual;
    if (from || comparison.op == Operator::kEqual)
      bounds.first = std::max(bounds.first, at * kPerMs);
    if (to || comparison.op == Operator::kEqual)
      bounds.last = std::min(bounds.last, (at + 1) * kPerMs);
  }
  return bounds;
}

class TraceColumns {
 public:
  TraceColumns(Connection& db, const TraceSearch& search)
      : db_(db), scope_(search.experiments), started_(started_between(search.search.filter)) {}

  Result<> read_traces();
  [[nodiscard]] const std::vector<Trace>& traces() const { return traces_; }
  Result<Column> column(const RowSearch::Field& field);

 private:
  [[nodiscard]] Column attribute_column(const RowSearch::Field& field) const;
  Result<Column> facts(TraceFact kind, const std::string& key);
  Result<Column> runs(RowSearch::Use use);

  Connection& db_;
  ExperimentScope scope_;
  Bounds started_;
  std::vector<Trace> traces_;
  RowsByKey<std::string> rows_;
};

Result<> TraceColumns::read_traces() {
  for (const Bounds& some : scope_.bounds()) {
    Statement row = TRY(db_.query(
        "SELECT id, source_run, client_request_id, experiment, started, state, duration FROM "
        "traces WHERE experiment BETWEEN ?1 AND ?2 AND started BETWEEN ?3 AND ?4",
        some.first, some.last, started_.first, started_.last));
    while (TRY(row.step())) {
      if (!scope_.contains(row.integer(3))) continue;
      traces_.push_back({.id = row.text(0),
                         .run = row.text(1),
                         .client_request_id = row.text(2),
                         .experiment = row.integer(3),
                         .started = row.integer(4),
                         .state = static_cast<TraceState>(row.integer(5)),
                         .duration = row.maybe_integer(6)});
    }
  }
  std::ranges::sort(traces_, [](const Trace& a, const Trace& b) {
    return a.started != b.started ? a.started > b.started : a.id < b.id;
  });
  for (std::uint32_t row = 0; row < traces_.size(); ++row) rows_.emplace(traces_[row].id, row);
  return {};
}

Column TraceColumns::attribute_column(const RowSearch::Field& field) const {
  Column column;
  const bool exact = field.use == RowSearch::Use::kOrder;
  const auto time = [&](std::int64_t ns) { return exact ? ns : whole_ms(ns); };
  for (std::uint32_t row = 0; row < traces_.size(); ++row) {
    const Trace& trace = traces_[row];
    if (field.key == "request_id") {
      column.emplace_back(row, trace.id);
    } else if (field.key == "status") {
      column.emplace_back(row, std::string(state_text(trace.state)));
    } else if (field.key == "client_request_id") {
      if (!trace.client_request_id.empty()) column.emplace_back(row, trace.client_request_id);
    } else if (field.key == "experiment_id") {
      column.emplace_back(row, trace.experiment);
    } else if (field.key == "timestamp_ms") {
      column.emplace_back(row, time(trace.started));
    } else if (field.key == "end_time_ms") {
      column.emplace_back(row, time(later(trace.started, trace.duration.value_or(0))));
    } else if (trace.duration) {
      column.emplace_back(row, time(*trace.duration));
    }
  }
  return column;
}

Result<Column> TraceColumns::facts(TraceFact kind, const std::string& key) {
  Column column;
  for (const Bounds& some : scope_.bounds()) {
    Statement row = TRY(db_.query(
        "SELECT f.trace, f.value FROM traces t JOIN trace_facts f ON f.trace = t.id AND f.kind = "
        "?3 AND f.key = ?4 WHERE t.experiment BETWEEN ?1 AND ?2 AND t.started BETWEEN ?5 AND ?6",
        some.first, some.last, kind, key, started_.first, started_.last));
    TRY(add_texts(column, row, rows_));
  }
  return column;
}

// The run that a trace came from, which stands in a column of its own, and those that it was linked
// to; it is ordered by the former.
Result<Column> TraceColumns::runs(RowSearch::Use use) {
  Column column;
  for (std::uint32_t row = 0; row < traces_.size(); ++row) {
    if (!traces_[row].run.empty()) column.emplace_back(row, traces_[row].run);
  }
  if (use == RowSearch::Use::kOrder) return column;
  for (const Bounds& some : scope_.bounds()) {
    Statement row = TRY(db_.query(
        "SELECT f.trace, f.key FROM traces t JOIN trace_facts f ON f.trace = t.id AND f.kind = ?3 "
        "WHERE t.experiment BETWEEN ?1 AND ?2 AND t.started BETWEEN ?4 AND ?5",
        some.first, some.last, TraceFact::kRun, started_.first, started_.last));
    TRY(add_texts(column, row, rows_));
  }
  return column;
}

Result<Column> TraceColumns::column(const RowSearch::Field& field) {
  if (field.entity == Entity::kTag) return facts(TraceFact::kTag, field.key);
  if (field.entity != Entity::kMetadata) return attribute_column(field);
  return field.key == kSourceRun ? runs(field.use) : facts(TraceFact::kMetadata, field.key);
}

}  // namespace

Result<Found<std::string>> search_traces(Connection& db, const TraceSearch& search) {
  TraceColumns columns(db, search);
  TRY(columns.read_traces());
  RowSearch rows(
      columns.traces().size(),
      [&](const RowSearch::Field& field, const RowSearch::Kept&) { return columns.column(field); });
  TRY(rows.keep(search.search.filter));
  const auto page = TRY(rows.page(search.search.orders, search.search.paging));
  Found<std::string> found{{}, page.more};
  for (const std::uint32_t row : page.rows) found.rows.push_back(columns.traces()[row].id);
  return found;
}

}  // namespace corral::store::tracking
