// Walks the points of some series over all levels of the store, with bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/store.h"

namespace corral::query {

struct PointQuery {
  std::vector<SeriesId> series;
  UtcTime from = UtcTime::min();  // half open
  UtcTime to = UtcTime::max();
};
struct Point {
  SeriesId series;
  std::int64_t session = 0;  // key: the same number for points of one session
  std::int64_t time = 0;     // UTC, ns
  std::optional<std::int64_t> step;
  double value = 0;
};

// Series after series, each in order of arrival but for what a block or chunk has sorted by time.
// Series are taken a few at a time, each lot in a snapshot of its own. Damaged blocks are left out
// and counted in the answer. `take` returning false ends the walk.
Result<std::size_t> walk_points(store::Store& store, const PointQuery& query,
                                const std::function<bool(const Point&)>& take);

}  // namespace corral::query
