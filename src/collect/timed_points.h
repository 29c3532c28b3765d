// TimedPoints: points that bring times of their own, from the sampler thread to the one consumer
// thread: without locks, without waiting, in memory taken at construction.
//
// Points that do not fit are lost and counted. One producer thread (add, take_lost), one consumer
// thread (drain).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "collect/row_ring.h"
#include "collect/series.h"
#include "core/time.h"

namespace corral::collect {

struct TimedPoint {
  Column column = kNoColumn;  // a column of kTimedGroup
  BootTime time;
  double value = 0;
};

class TimedPoints {
 public:
  explicit TimedPoints(std::size_t points) : ring_(points, 1) {}

  void add(const TimedPoint& point);
  // Lost since the last call.
  std::uint64_t take_lost() { return std::exchange(lost_, 0); }

  // In the order of add().
  void drain(const std::function<void(const TimedPoint&)>& take);

 private:
  RowRing ring_;  // a row is a point, its group the column
  std::uint64_t lost_ = 0;
};

}  // namespace corral::collect
