// Walks the points of some series over all levels of the store, with bounded memory.
//
// Series after series, each in order of arrival but for what a block or chunk has sorted by time.
// Series are taken a few at a time, each lot in a snapshot of its own, and a walk that takes long
// takes a fresh one between two blocks (blocks keep their numbers and never change), so that a slow
// reader does not hold the store's log back.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/store.h"

namespace corral::query {

struct PointQuery {
  std::vector<SeriesId> series = {};
  UtcTime from = UtcTime::min();  // half open
  UtcTime to = UtcTime::max();
};

// Consecutive points of one series and session, ascending in time; at most 8,192 from a block.
// Valid during the call.
struct PointBatch {
  SeriesId series;
  std::int64_t session = 0;                    // key: the same for points of one session
  std::span<const std::int64_t> times, steps;  // UTC, ns; steps empty: the points have none
  std::span<const double> values;
};

// What is damaged and could not be read.
struct PointGap {
  static constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();
  SeriesId series;
  std::int64_t from = kEarliest, to = kLatest;  // UTC, ns, both inside; all of time: unknown
  std::uint64_t points = 0;                     // 0: unknown
};

class PointTaker {
 public:
  virtual ~PointTaker() = default;
  // False ends the walk.
  virtual bool points(const PointBatch& batch) = 0;
  virtual bool gap(const PointGap& gap) = 0;
};

Result<> walk_batches(store::Store& store, const PointQuery& query, PointTaker& taker);
// Over a view of the series, in one go.
Result<> walk_batches(store::PointView& view, const PointQuery& query, PointTaker& taker);

}  // namespace corral::query
