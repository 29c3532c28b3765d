// An experiment at a glance: its workloads with their runs, each with one value of a metric.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/search/run_summaries.h"

namespace corral::store::tracking {

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
