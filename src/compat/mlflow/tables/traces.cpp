#include "compat/mlflow/tables/traces.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "store/search/search.h"

namespace corral::store::tracking {
namespace {

using sql::Blob;
using sql::Connection;
using sql::Statement;

std::string find_source_run(const TraceRow& trace) {
  const auto found =
      std::ranges::find(trace.metadata, kSourceRun, [](const auto& fact) { return fact.first; });
  return found == trace.metadata.end() ? std::string() : found->second;
}

Result<> read_facts(Connection& db, TraceRow& trace) {
  Statement row = TRY(db.query(
      "SELECT kind, key, value FROM trace_facts WHERE trace = ?1 ORDER BY kind, key", trace.id));
  while (TRY(row.step())) {
    switch (static_cast<TraceFact>(row.integer(0))) {
      case TraceFact::kMetadata:
        trace.metadata.emplace_back(row.text(1), row.text(2));
        break;
      case TraceFact::kTag:
        trace.tags.emplace_back(row.text(1), row.text(2));
        break;
      case TraceFact::kRun:
        trace.runs.emplace_back(row.text(1), row.text(2));
        break;
      case TraceFact::kAssessment:
        trace.assessments.emplace_back(row.text(1), row.text(2));
        break;
    }
  }
  return {};
}

Result<std::optional<TraceRow>> read_row(Connection& db, const std::string& id) {
  Statement row = TRY(
      db.query("SELECT experiment, client_request_id, started, duration, state, request_preview, "
               "response_preview FROM traces WHERE id = ?1",
               id));
  if (!TRY(row.step())) return std::nullopt;
  TraceRow trace;
  trace.id = id;
  trace.experiment = ExperimentId{row.integer(0)};
  trace.client_request_id = row.text(1);
  trace.start = row.utc(2);
  if (const auto ns = row.maybe_integer(3)) trace.duration = Nanos(*ns);
  trace.state = static_cast<TraceState>(row.integer(4));
  trace.request_preview = row.text(5);
  trace.response_preview = row.text(6);
  return trace;
}

Result<> put_facts(Connection& db, const std::string& trace, TraceFact kind, const Tags& facts) {
  for (const auto& [key, value] : facts) TRY(set_trace_fact(db, trace, kind, key, value));
  return {};
}

// Ids that are to go, the oldest first.
Result<std::vector<std::string>> ids_until(Connection& db, const TraceRemoval& removal) {
  Statement row =
      TRY(db.query("SELECT id FROM traces WHERE experiment = ?1 AND started <= ?2 "
                   "ORDER BY started, id",
                   removal.experiment, *removal.no_later));
  std::vector<std::string> ids;
  while (TRY(row.step())) {
    ids.push_back(row.text(0));
    if (removal.limit > 0 && static_cast<std::int64_t>(ids.size()) == removal.limit) break;
  }
  return ids;
}

using mlflow::Comparison;
using mlflow::Entity;
using mlflow::Operator;

struct Trace {
  std::string id, run, client_request_id;
  std::int64_t experiment = 0, started = 0;
  TraceState state = TraceState::kUnspecified;
  std::optional<std::int64_t> duration;
};

std::string state_text(TraceState state) {
  const auto index = static_cast<std::size_t>(state);
  return std::string(kTraceStates.at(index < kTraceStates.size() ? index : 0));
}

// Returns the times that the filter leaves, in ns and not exactly; the filter itself is applied
// again later.
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
      column.emplace_back(row, state_text(trace.state));
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

Result<> put_trace(Connection& db, const TraceRow& trace) {
  const std::optional<std::int64_t> duration =
      trace.duration ? std::optional(std::int64_t{trace.duration->count()}) : std::nullopt;
  TRY(
      db.exec("INSERT INTO traces (id, experiment, source_run, client_request_id, started, "
              "duration, state, request_preview, response_preview) "
              "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO UPDATE SET "
              "experiment = excluded.experiment, "
              "source_run = CASE WHEN excluded.source_run = '' THEN traces.source_run ELSE "
              "excluded.source_run END, "
              "client_request_id = excluded.client_request_id, started = excluded.started, "
              "duration = excluded.duration, state = excluded.state, "
              "request_preview = CASE WHEN excluded.request_preview = '' THEN "
              "traces.request_preview ELSE excluded.request_preview END, "
              "response_preview = CASE WHEN excluded.response_preview = '' THEN "
              "traces.response_preview ELSE excluded.response_preview END",
              trace.id, trace.experiment, find_source_run(trace), trace.client_request_id,
              trace.start, duration, trace.state, trace.request_preview, trace.response_preview));
  TRY(put_facts(db, trace.id, TraceFact::kMetadata, trace.metadata));
  TRY(put_facts(db, trace.id, TraceFact::kTag, trace.tags));
  TRY(put_facts(db, trace.id, TraceFact::kAssessment, trace.assessments));
  return put_facts(db, trace.id, TraceFact::kRun, trace.runs);
}

Result<std::optional<TraceRow>> trace(Connection& db, const std::string& id) {
  auto found = TRY(read_row(db, id));
  if (found) TRY(read_facts(db, *found));
  return found;
}

Result<std::optional<TraceRow>> lock_trace(Connection& db, const std::string& id) {
  if (!TRY(
          db.number("SELECT 1 FROM traces WHERE id = ?1" + std::string(db.dialect().lock_row), id)))
    return std::nullopt;
  return trace(db, id);
}

Result<std::vector<TraceRow>> traces(Connection& db, std::span<const std::string> ids) {
  std::vector<TraceRow> all;
  for (const std::string& id : ids) {
    if (auto one = TRY(trace(db, id))) all.push_back(*std::move(one));
  }
  return all;
}

Result<bool> has_trace(Connection& db, const std::string& id) {
  return TRY(db.number("SELECT 1 FROM traces WHERE id = ?1", id)).has_value();
}

Result<> set_trace_fact(Connection& db, const std::string& trace, TraceFact kind,
                        std::string_view key, std::string_view value) {
  return db.defer(
      "INSERT INTO trace_facts (trace, kind, key, value) VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT (trace, kind, key) DO UPDATE SET value = excluded.value",
      trace, kind, key, value);
}

Result<bool> delete_trace_fact(Connection& db, const std::string& trace, TraceFact kind,
                               std::string_view key) {
  return TRY(db.number("DELETE FROM trace_facts WHERE trace = ?1 AND kind = ?2 AND key = ?3 "
                       "RETURNING 1",
                       trace, kind, key))
      .has_value();
}

Result<> put_span(Connection& db, const std::string& trace, std::string_view id,
                  std::string_view content) {
  const Blob bytes(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
  return db.defer(
      "INSERT INTO spans (trace, id, content) VALUES (?1, ?2, ?3) "
      "ON CONFLICT (trace, id) DO UPDATE SET content = excluded.content",
      trace, id, bytes);
}

Result<std::vector<std::string>> read_spans(Connection& db, const std::string& trace) {
  Statement row = TRY(db.query("SELECT content FROM spans WHERE trace = ?1 ORDER BY id", trace));
  std::vector<std::string> contents;
  while (TRY(row.step())) {
    const Blob bytes = row.blob(0);
    contents.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return contents;
}

Result<std::int64_t> delete_traces(Connection& db, const TraceRemoval& removal) {
  const std::vector<std::string> ids = removal.no_later ? TRY(ids_until(db, removal)) : removal.ids;
  std::int64_t gone = 0;
  for (const std::string& id : ids) {
    gone += TRY(db.number("DELETE FROM traces WHERE id = ?1 AND experiment = ?2 RETURNING 1", id,
                          removal.experiment))
                .value_or(0);
  }
  return gone;
}

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
