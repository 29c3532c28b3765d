// The body of runs/log-batch and runs/log-metric: the hot path of MLflow's interface.
//
// Points are grouped by metric, in the order in which they were sent, so that they become columns
// of a frame directly. All checks of a batch happen here, before any of it is stored. Pure; takes
// any bytes (fuzz/fuzz_log_batch.cpp); any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compat/mlflow/wire/error.h"

namespace corral::mlflow {

struct MetricPoint {
  std::int64_t time_ms = 0;  // UTC
  std::int64_t step = 0;
  double value = 0;
};
struct MetricColumn {
  std::string key;
  std::vector<MetricPoint> points;
};
// A point that also belongs to a logged model.
struct ModelMetric {
  std::string model_id, key, dataset_name, dataset_digest;
  MetricPoint point;
};
using Pair = std::pair<std::string, std::string>;

struct LogBatch {
  std::string run_id{};
  std::vector<MetricColumn> metrics{};
  std::vector<ModelMetric> model_metrics{};  // are in `metrics`, too
  std::vector<Pair> params{}, tags{};        // values cut to their lengths
};

Answer<LogBatch> parse_log_batch(std::string_view body);
Answer<LogBatch> parse_log_metric(std::string_view body);

// Refuses a request that names a param twice.
Answer<> check_unique(std::span<const Pair> params);

// Refuses times that a client's session cannot carry (times.h).
Answer<> check_time(std::int64_t time_ms, std::string_view path);

}  // namespace corral::mlflow
