// Walks the points of some series over the store's batches: each batch decoded once, each point
// given with its series.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/ids.h"
#include "core/result.h"
#include "store/store.h"

namespace corral::query {

struct Point {
  SeriesId series;
  SessionId session;
  std::int64_t time = 0;  // UTC, ns
  std::optional<std::int64_t> step;
  double value = 0;
};

// In order of arrival, column by column within a batch. `take` returning false ends the walk.
Result<> walk_points(store::Store& store, const store::BatchQuery& query,
                     const std::function<bool(const Point&)>& take);

}  // namespace corral::query
