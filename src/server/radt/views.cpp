#include "server/radt/views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "query/history.h"
#include "server/radt/view_query.h"
#include "store/tracking/runs.h"
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
constexpr std::size_t kMostSorted = 1'000'000;  // rows that are put in order in memory

// Writes rows as they come: filtered, counted, the wanted cells.
class Rows {
 public:
  Rows(const ViewQuery& query, Columns columns, StreamSink& sink)
      : query_(query), columns_(columns), sink_(sink), json_(text_) {
    json_.begin_array();
  }
  // False: no more are wanted.
  bool add(const Row& row) {
    if (!query_.takes(row)) return more_;
    if (skipped_ < query_.offset) {
      ++skipped_;
      return more_;
    }
    if (written_ >= query_.limit) return more_ = false;
    ++written_;
    json_.begin_object();
    for (const std::size_t column : query_.select) json_.key(columns_[column]).value(row[column]);
    json_.end_object();
    if (text_.size() >= kPieceBytes) flush();
    return more_;
  }
  void finish() {
    json_.end_array();
    flush();
  }

 private:
  void flush() {
    more_ = sink_.write(text_) && more_;
    text_.clear();
  }

  const ViewQuery& query_;
  Columns columns_;
  StreamSink& sink_;
  std::string text_;
  JsonWriter json_;
  std::size_t skipped_ = 0, written_ = 0;
  bool more_ = true;
};

// Takes a row; false: no more are wanted.
using Take = std::function<bool(Row)>;
using Produce = std::function<Result<>(const ViewQuery& query, const Take& take)>;

Result<> in_order(const ViewQuery& query, const Produce& produce, Rows& rows) {
  std::vector<Row> all;
  bool fits = true;
  TRY(produce(query, [&](Row row) {
    if (query.takes(row)) all.push_back(std::move(row));
    return fits = all.size() <= kMostSorted;
  }));
  if (!fits)
    return corral::fail(Code::kTooLarge, "too many rows to put in order; leave `order` away");
  query.sort(all);
  for (const Row& row : all) {
    if (!rows.add(row)) break;
  }
  return {};
}

Response answer(const ViewQuery& query, Columns columns, Produce produce) {
  Response response;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  response.stream = [query, columns, produce = std::move(produce)](StreamSink& sink) -> Result<> {
    Rows rows(query, columns, sink);
    TRY(query.order.empty() ? produce(query, [&](const Row& row) { return rows.add(row); })
                            : in_order(query, produce, rows));
    rows.finish();
    return {};
  };
  return response;
}

// The rows of a small table, read in one snapshot before the first is written.
Response small_table(const Request& request, Context& context, Columns columns,
                     Result<std::vector<Row>> (*read)(Connection&)) {
  const auto query = parse_view_query(request.query, columns);
  if (!query) return error_response(query.error());
  auto rows = std::make_shared<std::vector<Row>>();
  const auto done = context.store.inspect([&](store::sql::Reading& reading) -> Result<> {
    *rows = TRY(read(reading.db));
    return {};
  });
  if (!done) return error_response(done.error());
  return answer(*query, columns, [rows](const ViewQuery&, const Take& take) -> Result<> {
    for (const Row& row : *rows) {
      if (!take(row)) break;
    }
    return {};
  });
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
  // A run without radT's is told the workload that it has here.
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

std::string_view status_of(tracking::ClientStatus status) {
  constexpr std::array<std::string_view, 6> kNames = {"",         "RUNNING", "SCHEDULED",
                                                      "FINISHED", "FAILED",  "KILLED"};
  return kNames.at(static_cast<std::size_t>(status));
}

std::int64_t ms_of(UtcTime time) { return ns_of(time) / 1'000'000; }

Result<std::vector<Row>> read_runs(Connection& db) {
  std::vector<std::int64_t> keys;
  {
    Statement row = TRY(db.query("SELECT key FROM runs WHERE lifecycle = 0 ORDER BY key"));
    while (TRY(row.step())) keys.push_back(row.integer(0));
  }
  Params params = TRY(read_params(db));
  std::vector<Row> rows;
  for (const tracking::RunRow& run : TRY(tracking::runs(db, keys))) {
    const auto& [data, letter, model, arguments, workload] = params[run.key];
    const UtcTime end = run.end.value_or(sys::utc_now());
    rows.push_back({Json(run.id.hex()), Json(run.experiment.value), workload,
                    Json(status_of(run.status)), Json(ms_of(run.start)),
                    Json(ms_of(end) - ms_of(run.start)), data, letter, model,
                    without_quotes(arguments)});
  }
  return rows;
}

// Names of runs' metrics, of all runs or of those that are asked for.
Result<std::vector<std::pair<std::string, RunId>>> metric_names(
    Context& context, const std::optional<std::vector<std::string>>& only) {
  std::vector<std::pair<std::string, RunId>> names;
  const auto read = [&](store::sql::Reading& reading) -> Result<> {
    names.clear();
    const std::string select =
        "SELECT x.name, r.id FROM series x JOIN runs r ON r.key = x.owner WHERE x.owner_kind = 0 "
        "AND x.source = '' AND r.lifecycle = 0 ";
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
  TRY(context.store.inspect(read));
  return names;
}

// MLflow's database has no infinities; a NaN, which the view told as 0, is null.
Json value_of(double value) {
  constexpr double kMost = std::numeric_limits<double>::max();
  if (std::isnan(value)) return {};
  return std::clamp(value, -kMost, kMost);
}

// The history of one metric of one run; true: more may come.
Result<bool> give_history(Context& context, RunId run, const store::Series& series,
                          const Take& take) {
  Row row = {Json(run.hex()), Json(series.name), Json(), Json(), Json()};
  std::optional<query::HistoryPlace> place = query::HistoryPlace();
  while (place) {
    const auto page =
        TRY(query::history_page(context.store, series.id, *place, query::kHistoryPagePoints));
    for (const query::HistoryPoint& point : page.points) {
      row[2] = value_of(point.value);
      row[3] = point.time_ms;
      row[4] = point.step;
      if (!take(row)) return false;
    }
    place = page.next;
  }
  return true;
}

Result<> give_histories(Context& context, const std::vector<RunId>& runs, const ViewQuery& query,
                        const Take& take) {
  constexpr std::size_t kKey = 1;
  for (const RunId run : runs) {
    for (const store::Series& series : TRY(context.store.series_of(run))) {
      const bool own = series.owner == metric::Owner::kRun && series.source.empty();
      const Json name(series.name);
      const bool wanted = std::ranges::all_of(query.filters, [&](const Filter& filter) {
        return filter.column != kKey || filter.takes(name);
      });
      if (own && wanted && !TRY(give_history(context, run, series, take))) return {};
    }
  }
  return {};
}

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
  return answer(*query, kAvailableColumns,
                [names = *std::move(names)](const ViewQuery&, const Take& take) -> Result<> {
                  for (const auto& [name, run] : names) {
                    if (!take({Json(name), Json(run.hex())})) break;
                  }
                  return {};
                });
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
                [&context, runs = std::move(runs)](const ViewQuery& wanted, const Take& take) {
                  return give_histories(context, runs, wanted, take);
                });
}

}  // namespace corral::server::radt
