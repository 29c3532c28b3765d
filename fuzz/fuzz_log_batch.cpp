// Bodies of runs/log-batch and runs/log-metric.
#include <cstdlib>

#include "compat/mlflow/wire/log_batch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto parse : {corral::mlflow::parse_log_batch, corral::mlflow::parse_log_metric}) {
    const auto batch = parse(text);
    if (!batch) {
      if (corral::mlflow::http_status(batch.error().code) != 400) std::abort();
      continue;
    }
    std::size_t points = 0;
    for (const auto& column : batch->metrics) {
      points += column.points.size();
      for (const auto& point : column.points) {
        if (point.time_ms < 0) std::abort();
      }
    }
    if (points > 1000 || batch->params.size() > 100 || batch->run_id.empty()) std::abort();
  }
  return 0;
}
