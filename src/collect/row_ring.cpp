#include "collect/row_ring.h"

#include <algorithm>

#include "core/result.h"

namespace corral::collect {

RowRing::RowRing(std::size_t rows, std::size_t columns)
    : rows_(std::max<std::size_t>(rows, 2)),
      columns_(std::max<std::size_t>(columns, 1)),
      heads_(rows_),
      values_(std::make_unique_for_overwrite<double[]>(rows_ * columns_)),
      present_(std::make_unique_for_overwrite<std::uint8_t[]>(rows_ * columns_)) {}

bool RowRing::begin(std::size_t columns, Slot& slot) {
  CORRAL_ASSERT(columns <= columns_);
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  const std::uint64_t waiting = written - taken_.load(std::memory_order_acquire);
  if (waiting >= rows_) return false;
  if (waiting == 0) base_ = written;
  const std::size_t at = place(written);
  heads_[at].columns = columns;
  slot = {.values = {&values_[at * columns_], columns},
          .present = {&present_[at * columns_], columns}};
  std::fill(slot.present.begin(), slot.present.end(), std::uint8_t{0});
  return true;
}

void RowRing::commit(int group, BootTime time) {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  Head& head = heads_[place(written)];
  head.group = group;
  head.time = time;
  written_.store(written + 1, std::memory_order_release);
}

void RowRing::drain(const std::function<void(const RowView&)>& take) {
  const std::uint64_t end = written_.load(std::memory_order_acquire);
  for (std::uint64_t i = taken_.load(std::memory_order_relaxed); i < end; ++i) {
    const std::size_t at = place(i);
    const Head& head = heads_[at];
    take({.group = head.group,
          .time = head.time,
          .values = {&values_[at * columns_], head.columns},
          .present = {&present_[at * columns_], head.columns}});
    taken_.store(i + 1, std::memory_order_release);
  }
}

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
