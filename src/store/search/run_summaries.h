// Statistics of metrics of many runs, from what the store keeps of each series: for bar charts,
// parameters against a metric, and overviews.
//
// A run's own series count before its workload's of the same name; the workload's (host, devices)
// count for each of its runs. Over finite values. Several sources make one value: their sum where
// the catalogue allows sums, else the mean of the means and newest values, the least minimum and
// the greatest maximum. For a counter only the mean is given, as a rate: its growth divided by the
// time between its first and last point; none if the counter decreased in between. Any thread, each
// with its own Reading.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/read/reads.h"
#include "store/search/run_table.h"

namespace corral::store::tracking {

inline constexpr std::size_t kMostMetrics = sql::kMostNames;  // per question

struct SummaryQuestion {
  std::vector<std::string> metrics;   // names, at most kMostMetrics
  std::optional<std::string> source;  // only this one
};

struct MetricSummary {
  std::optional<double> last, min, max, mean;
  std::int64_t count = 0;  // finite points
  std::string unit;        // unit of the rate if `rate`
  std::int64_t sources = 0;
  bool rate = false;
  bool shared = false;  // the workload's
};

// The value of one series, and of several sources of one metric.
MetricSummary summary_of(const Series& series);
MetricSummary combined(std::span<const Series* const> sources);

// By row of the table, beside the metrics; nothing where the run has no point of it.
using RunSummaries = std::vector<std::vector<std::optional<MetricSummary>>>;
Result<RunSummaries> summarize(Reading& reading, const RunTable& table,
                               const SummaryQuestion& question);

// ---- an experiment at a glance: its workloads with their runs, each with one value of a metric
struct OverviewRun {
  RunId id;
  std::string name, model;  // model: as RunField::Kind::kModel
  RunStatus status = RunStatus::kRunning;
  std::int64_t start = 0, end = 0;  // UTC, ns; end: the newest time while it runs
  std::optional<MetricSummary> value;
};
struct OverviewWorkload {
  WorkloadId id;
  std::string name;               // empty: a run's own
  std::string collocation;        // that of its first run
  std::vector<OverviewRun> runs;  // by start
};

// The newest workload first, by the start of its first run. `metric` empty: no values.
Result<std::vector<OverviewWorkload>> overview(Reading& reading, ExperimentId experiment,
                                               const std::string& metric);

}  // namespace corral::store::tracking
