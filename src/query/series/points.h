// Walks the points of some series over all levels of the store, with bounded memory.
//
// Series come one after another, each in order of arrival, except that blocks and chunks are sorted
// by time. A walk continues while its taker has room, and pauses between two blocks (blocks keep
// their numbers and never change). A few series at a time share a snapshot; a long step takes a
// fresh one. No snapshot is held between two steps, so a slow reader does not hold the store's log
// back.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/reader.h"

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

// Points that are damaged and could not be read.
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
  virtual void points(const PointBatch& batch) = 0;
  virtual void gap(const PointGap& gap) = 0;
  // True: pause. Some more may still come: a block, or the points of a series that are in none.
  [[nodiscard]] virtual bool full() const { return false; }
};

// kNotFound when the run was removed, which takes its points away while they are read: to be asked
// after the last of them.
Result<> check_not_removed(const store::Reader& store, RunId run);

class PointWalk {
 public:
  // `store` must outlive it.
  PointWalk(const store::Reader& store, PointQuery query)
      : store_(store), query_(std::move(query)) {}
  // True: the taker is full, and there may be more.
  Result<bool> next(PointTaker& taker);

 private:
  store::Reader store_;
  PointQuery query_;
  std::size_t series_ = 0;  // the next series
  std::int64_t block_ = 0;
  bool blocks_done_ = false;
};

// Over a view of the series, in one go.
Result<> walk_batches(store::PointView& view, const PointQuery& query, PointTaker& taker);

}  // namespace corral::query
