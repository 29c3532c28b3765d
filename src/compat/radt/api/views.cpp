#include "compat/radt/api/views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "analyze/history.h"
#include "compat/mlflow/wire/names.h"
#include "compat/radt/api/view_query.h"
#include "store/search/runs.h"
#include "sys/clock.h"

namespace corral::server::radt {
namespace {

namespace tracking = store::tracking;
using store::sql::Connection;
using store::sql::Statement;

constexpr std::array<std::string_view, 2> kExperimentColumns = {"experiment_id", "name"};
constexpr std::array<std::string_view, 10> kRunColumns = {
    "run_uuid", "experiment_id", "workload", "status", "start_time",
    "duration", "data",          "letter",   "model",  "params"};
constexpr std::array<std::string_view, 2> kAvailableColumns = {"key", "run_uuid"};
constexpr std::array<std::string_view, 5> kMetricColumns = {"run_uuid", "key", "value", "timestamp",
                                                            "step"};
constexpr std::size_t kPieceBytes = 64u << 10;
constexpr std::size_t kRowsAtOnce = 1000;       // in memory at once
constexpr std::size_t kMostSorted = 1'000'000;  // rows that are put in order in memory

// Writes rows as they come: filtered, counted, the wanted cells.
class Rows {
 public:
  Rows(ViewQuery query, Columns columns)
      : query_(std::move(query)), columns_(columns), json_(text_) {
    json_.begin_array();
  }
  void add(const Row& row) {
    if (!query_.takes(row) || !wanted()) return;
    if (skipped_ < query_.offset) {
      ++skipped_;
      return;
    }
    ++written_;
    json_.begin_object();
    for (const std::size_t column : query_.select) json_.key(columns_[column]).value(row[column]);
    json_.end_object();
  }
  void finish() { json_.end_array(); }
  [[nodiscard]] const ViewQuery& query() const { return query_; }
  [[nodiscard]] bool wanted() const { return written_ < query_.limit; }
  [[nodiscard]] bool full() const { return text_.size() >= kPieceBytes; }
  std::string take() { return std::exchange(text_, {}); }

 private:
  const ViewQuery query_;
  Columns columns_;
  std::string text_;
  JsonWriter json_;
  std::size_t skipped_ = 0, written_ = 0;
};

using Take = std::function<void(Row)>;
// Gives the next rows; true: there are more.
using Produce = std::function<Result<bool>(const Take& take)>;

Produce given(std::shared_ptr<const std::vector<Row>> rows) {
  return [rows = std::move(rows), at = std::size_t{0}](const Take& take) mutable -> Result<bool> {
    const std::size_t end = std::min(rows->size(), at + kRowsAtOnce);
    for (; at < end; ++at) take((*rows)[at]);
    return at < rows->size();
  };
}

Result<std::shared_ptr<const std::vector<Row>>> in_order(const ViewQuery& query,
                                                         const Produce& produce) {
  const auto all = std::make_shared<std::vector<Row>>();
  for (bool more = true; more;) {
    more = TRY(produce([&](Row row) {
      if (query.takes(row)) all->push_back(std::move(row));
    }));
    if (all->size() > kMostSorted)
      return corral::fail(Code::kTooLarge, "too many rows to put in order; leave `order` away");
  }
  query.sort(*all);
  return all;
}

Response answer(const ViewQuery& query, Columns columns, Produce produce) {
  Response response;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  response.stream = [rows = std::make_shared<Rows>(query, columns), produce = std::move(produce),
                     sorted = query.order.empty()](std::string& part) mutable -> Result<bool> {
    if (!std::exchange(sorted, true)) produce = given(TRY(in_order(rows->query(), produce)));
    bool more = true;
    while (more && !rows->full())
      more = TRY(produce([&](const Row& row) { rows->add(row); })) && rows->wanted();
    if (!more) rows->finish();
    part += rows->take();
    return more;
  };
  return response;
}

// The rows of a small table, read in one snapshot before the first is written.
Response small_table(const Request& request, Context& context, Columns columns,
                     Result<std::vector<Row>> (*read)(Connection&)) {
  const auto query = parse_view_query(request.query, columns);
  if (!query) return error_response(query.error());
  auto rows = std::make_shared<std::vector<Row>>();
  const auto done = context.reader.inspect([&](store::sql::Reading& reading) -> Result<> {
    *rows = TRY(read(reading.db));
    return {};
  });
  if (!done) return error_response(done.error());
  return answer(*query, columns, given(rows));
}

Result<std::vector<Row>> read_experiments(Connection& db) {
  std::vector<Row> rows;
  Statement row = TRY(db.query("SELECT id, name FROM experiments WHERE lifecycle = 0 ORDER BY id"));
  while (TRY(row.step())) rows.push_back({Json(row.integer(0)), Json(row.text(1))});
  return rows;
}

constexpr std::array<std::string_view, 5> kParams = {"data", "letter", "model", "params",
                                                     "workload"};
using Params = std::map<std::int64_t, std::array<Json, kParams.size()>>;  // by run's key

Result<Params> read_params(Connection& db) {
  Params params;
  // A run without radT's workload shows the one that it has here.
  {
    Statement row = TRY(
        db.query("SELECT r.key, w.name FROM runs r JOIN workloads w ON w.key = r.workload WHERE "
                 "w.name <> ''"));
    while (TRY(row.step())) params[row.integer(0)].back() = Json(row.text(1));
  }
  Statement row =
      TRY(db.query("SELECT run, key, value FROM facts WHERE kind = 0 AND key IN ('data', 'letter', "
                   "'model', 'params', 'workload')"));
  while (TRY(row.step())) {
    const auto* const at = std::ranges::find(kParams, row.text(1));
    params[row.integer(0)].at(static_cast<std::size_t>(at - kParams.begin())) = Json(row.text(2));
  }
  return params;
}

Json without_quotes(const Json& text) {
  if (text.as_string() == nullptr) return text;
  std::string plain = *text.as_string();
  std::erase_if(plain, [](char c) { return c == '"' || c == '\''; });
  return Json(std::move(plain));
}

std::int64_t ms_of(UtcTime time) { return ns_of(time) / 1'000'000; }

Result<std::vector<Row>> read_runs(Connection& db) {
  std::vector<std::int64_t> keys;
  {
    Statement row = TRY(db.query("SELECT key FROM runs WHERE lifecycle <= 0 ORDER BY key"));
    while (TRY(row.step())) keys.push_back(row.integer(0));
  }
  Params params = TRY(read_params(db));
  std::vector<Row> rows;
  for (const tracking::RunRow& run : TRY(tracking::runs(db, keys))) {
    const auto& [data, letter, model, arguments, workload] = params[run.key];
    const UtcTime end = run.end.value_or(sys::utc_now());
    rows.push_back({Json(run.id.hex()), Json(run.experiment.value), workload,
                    Json(corral::mlflow::kRunStatuses.at(static_cast<std::size_t>(run.status))),
                    Json(ms_of(run.start)), Json(ms_of(end) - ms_of(run.start)), data, letter,
                    model, without_quotes(arguments)});
  }
  return rows;
}

// Returns the names of metrics of all runs, or of the requested ones.
Result<std::vector<std::pair<std::string, RunId>>> metric_names(
    Context& context, const std::optional<std::vector<std::string>>& only) {
  std::vector<std::pair<std::string, RunId>> names;
  const auto read = [&](store::sql::Reading& reading) -> Result<> {
    names.clear();
    const std::string select =
        "SELECT x.name, r.id FROM series x JOIN runs r ON r.key = x.owner WHERE x.owner_kind = 0 "
        "AND x.source = '' AND r.lifecycle <= 0 ";
    const auto take = [&](Result<Statement> query) -> Result<> {
      Statement row = TRY(std::move(query));
      while (TRY(row.step())) names.emplace_back(row.text(0), row.id128<RunId>(1));
      return {};
    };
    if (!only) return take(reading.db.query(select + "ORDER BY x.name, r.id"));
    for (const std::string& text : *only) {
      const auto run = RunId::parse(text);
      if (run) TRY(take(reading.db.query(select + "AND r.id = ?1 ORDER BY x.name", *run)));
    }
    return {};
  };
  TRY(context.reader.inspect(read));
  return names;
}

// MLflow's database has no infinities. A NaN, which radT's view showed as 0, is null.
Json finite_value(double value) {
  constexpr double kMost = std::numeric_limits<double>::max();
  if (std::isnan(value)) return {};
  return std::clamp(value, -kMost, kMost);
}

// The histories of the runs' metrics, a page at a time.
class Histories {
 public:
  Histories(const store::Reader& store, std::vector<RunId> runs, ViewQuery query)
      : store_(store), runs_(std::move(runs)), query_(std::move(query)) {}

  // Gives a page; true: more may come.
  Result<bool> next(const Take& take) {
    while (series_.empty()) {
      if (run_ == runs_.size()) return false;
      series_ = TRY(store_.series_of(runs_[run_++]));
      std::erase_if(series_, [this](const store::Series& series) { return !wanted(series); });
      std::ranges::reverse(series_);
    }
    const store::Series& series = series_.back();
    const auto page =
        TRY(analyze::history_page(store_, series.id, place_, analyze::kStreamedPagePoints));
    Row row = {Json(runs_[run_ - 1].hex()), Json(series.name), Json(), Json(), Json()};
    for (const analyze::HistoryPoint& point : page.points) {
      row[2] = finite_value(point.value);
      row[3] = point.time_ms;
      row[4] = point.step;
      take(row);
    }
    place_ = page.next.value_or(analyze::HistoryPlace());
    if (!page.next) series_.pop_back();
    return true;
  }

 private:
  [[nodiscard]] bool wanted(const store::Series& series) const {
    constexpr std::size_t kKey = 1;
    const Json name(series.name);
    const bool own = series.owner == metric::Owner::kRun && series.source.empty();
    return own && std::ranges::all_of(query_.filters, [&](const Filter& filter) {
             return filter.column != kKey || filter.takes(name);
           });
  }

  store::Reader store_;
  const std::vector<RunId> runs_;
  const ViewQuery query_;
  std::size_t run_ = 0;                // the next one
  std::vector<store::Series> series_;  // the previous run's remaining series, the next one last
  analyze::HistoryPlace place_;
};

}  // namespace

Response fe_experiments(const Request& request, Context& context) {
  return small_table(request, context, kExperimentColumns, read_experiments);
}

Response fe_runs(const Request& request, Context& context) {
  return small_table(request, context, kRunColumns, read_runs);
}

Response fe_metrics_available(const Request& request, Context& context) {
  const auto query = parse_view_query(request.query, kAvailableColumns);
  if (!query) return error_response(query.error());
  auto names = metric_names(context, query->only(1));
  if (!names) return error_response(names.error());
  const auto rows = std::make_shared<std::vector<Row>>();
  for (const auto& [name, run] : *names) rows->push_back({Json(name), Json(run.hex())});
  return answer(*query, kAvailableColumns, given(rows));
}

Response fe_metrics(const Request& request, Context& context) {
  const auto query = parse_view_query(request.query, kMetricColumns);
  if (!query) return error_response(query.error());
  const auto texts = query->only(0);
  if (!texts) {
    return error_response({Code::kInvalidArgument,
                           "say of which runs: run_uuid=eq.ID or run_uuid=in.(\"ID\",\"ID\")"});
  }
  std::vector<RunId> runs;
  for (const std::string& text : *texts) {
    if (const auto run = RunId::parse(text)) runs.push_back(*run);
  }
  return answer(*query, kMetricColumns,
                [histories = std::make_shared<Histories>(context.reader, std::move(runs), *query)](
                    const Take& take) { return histories->next(take); });
}

}  // namespace corral::server::radt
