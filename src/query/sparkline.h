// Sparklines: one metric of each of many runs, in a few points, for a row of a list.
//
// Each is over its own series' time, from the first point to the last, in equal parts: the mean of
// each part (of a counter its mean rate). Long series are taken from stored summaries, whose border
// may lie up to half a part off (query/series/resample.h, aligned). Sources: the store, up to 64
// series in a snapshot. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::query {

struct Sparkline {
  std::string metric;
  bool rate = false;
  std::vector<std::optional<double>> means;      // one for each part; nothing where no point is
  double first = 0, last = 0, min = 0, max = 0;  // over all points
};

struct SparklineRequest {
  std::vector<RunId> runs;
  std::string metric = {};  // a series of the run itself; empty: its loss (query/loss.h)
  std::uint32_t points = 32;
};

// One per run; nullopt: no such run, no such metric or no finite point.
Result<std::vector<std::optional<Sparkline>>> sparklines(const store::Reader& store,
                                                         const SparklineRequest& request);

}  // namespace corral::query
