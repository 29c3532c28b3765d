// A history thinned out for a chart of MLflow's interface: the first, last, least and greatest
// point of stretches of steps, so that no spike is lost.
//
// Where steps rise from point to point (a run that was not started again at an earlier step), long
// stretches are cut at buckets of the pyramid: only the chosen points are read, and memory does not
// grow with the series. Everywhere else the history is read whole. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "analyze/history.h"

namespace corral::query {

struct SampleQuery {
  SeriesId series;
  // Both belong to it.
  std::int64_t first_step = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  std::size_t most = 2500;  // points, at least 4
};

// By step, then time.
Result<std::vector<HistoryPoint>> sample_history(store::Store& store, const SampleQuery& query);

// At most `most` of the points (at least 4), which are by step, then time, in stretches of equal
// numbers of steps; of points where there are few steps.
std::vector<HistoryPoint> thin_out(std::vector<HistoryPoint> points, std::size_t most);

}  // namespace corral::query
