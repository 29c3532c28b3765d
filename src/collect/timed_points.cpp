#include "collect/timed_points.h"

namespace corral::collect {

void TimedPoints::add(const TimedPoint& point) {
  RowRing::Slot slot;
  if (!ring_.begin(1, slot)) {
    ++lost_;
    return;
  }
  slot.values.front() = point.value;
  ring_.commit(static_cast<int>(point.column), point.time);
}

void TimedPoints::drain(const std::function<void(const TimedPoint&)>& take) {
  ring_.drain([&](const RowView& row) {
    take({.column = static_cast<Column>(row.group), .time = row.time, .value = row.values.front()});
  });
}

}  // namespace corral::collect
