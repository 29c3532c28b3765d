// RunTable: the runs of a search as compact rows, and their other values column by column. Used by
// find_runs.cpp.
//
// Rows are numbers from 0, the newest run first (by start, then id, both descending). The rows
// themselves are read by one statement; params, tags, names of workloads and metrics are read when
// something asks for them, and kept. Sources: the caller's snapshot. One thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "store/model/records.h"
#include "store/model/transaction.h"
#include "store/read/latest_metrics.h"
#include "store/search/runs.h"
#include "store/search/search_rows.h"

namespace corral::store::tracking {

// Each list that is not empty restricts.
struct RunScope {
  std::vector<ExperimentId> experiments;
  std::vector<WorkloadId> workloads;
  std::vector<RunId> runs;
  // Active runs; of those in `runs` archived ones, too.
  Lifecycle lifecycle = Lifecycle::kActive;
};

// A property by which runs are filtered, ordered, counted and shown.
struct RunField {
  enum class Kind : std::uint8_t {
    kStart,
    kDuration,
    kMetric,  // those above are numbers, those below are texts
    kName,
    kStatus,
    kExperiment,  // its name
    kWorkload,    // its name
    kHost,
    kCreator,
    kCollocation,  // as the run says, else "together" or "alone"
    kModel,
    kDevice,
    kParam,
    kTag,
  };
  // Values of a metric: kLatest is the one at the greatest step, then time; kLast the newest finite
  // one.
  enum class Value : std::uint8_t { kLatest, kLast, kMin, kMax, kMean };

  Kind kind = Kind::kStart;
  std::string key;  // key of a metric, param or tag
  Value value = Value::kLatest;

  [[nodiscard]] bool is_text() const { return kind > Kind::kMetric; }
  auto operator<=>(const RunField&) const = default;
};
// "start", "host", "params.KEY", "tags.KEY", "metrics.NAME", "metrics.NAME.min" (max, mean, last).
std::optional<RunField> parse_run_field(std::string_view text);

class RunTable {
 public:
  struct Row {
    std::int64_t key = 0;
    RunId id;
    std::string name;
    std::int64_t experiment = 0, workload = 0;  // keys
    RunStatus status = RunStatus::kRunning;
    std::int64_t start = 0, end = 0;  // UTC, ns; end: the newest time while it runs
    std::string host, creator;
  };
  // By row; empty: not set.
  using Texts = std::vector<std::string>;
  // Facts of one kind and key: the runs that have it, in no order.
  using FactColumn = std::vector<std::pair<std::uint32_t, std::string>>;
  using Facts = std::map<std::pair<Fact, std::string>, FactColumn>;

  explicit RunTable(Reading& reading) : reading_(reading) {}
  Result<> read(const RunScope& scope);

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::optional<std::uint32_t> find_row(std::int64_t key) const;
  // For a field that is a text.
  Result<const Texts*> texts(const RunField& field);
  // All params and tags.
  Result<const Facts*> facts();
  // The commands as they are stored.
  Result<FactColumn> commands();
  // The metrics of some rows, beside them.
  Result<std::vector<sql::RunMetrics>> metrics(std::span<const std::uint32_t> rows);
  // To order by: texts that are all numbers are numbers. Metrics of the rows kept.
  Result<Column> column(const RunField& field, const RowSearch::Kept& kept);

 private:
  Result<> read_scope(const RunScope& scope);
  Result<Texts> read_texts(const RunField& field);
  Result<Texts> first_text(std::span<const std::string_view> keys);
  Result<Texts> collocations();
  // The names that a query over the experiments gives for keys.
  Result<Texts> names_by(std::int64_t Row::*key, std::string_view query);
  Result<Texts> fact_texts(Fact kind, const std::string& key);
  // Calls take(row, statement of run, key, value) for every fact of `kind` with `key`, or with any
  // when that is empty.
  template <class Take>
  Result<> read_facts(codec::FactKind kind, std::string_view key, Take&& take);
  Result<Column> metric_column(const RunField& field, const RowSearch::Kept& kept);

  sql::Reading& reading_;
  std::vector<Row> rows_;
  std::unordered_map<std::int64_t, std::uint32_t> by_key_;
  std::int64_t first_experiment_ = 0, last_experiment_ = 0;
  std::map<RunField, Texts> texts_;
  std::optional<Facts> facts_;
};

// The value that the field names; nothing: the run has no such value.
std::optional<double> metric_value(const sql::RunMetrics& metrics, const RunField& field);

}  // namespace corral::store::tracking
