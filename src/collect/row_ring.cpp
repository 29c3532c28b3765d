#include "collect/row_ring.h"

#include <algorithm>

#include "core/result.h"

namespace corral::collect {

RowRing::RowRing(std::size_t rows, std::size_t columns)
    : rows_(std::max<std::size_t>(rows, 2)),
      columns_(std::max<std::size_t>(columns, 1)),
      heads_(rows_),
      values_(rows_ * columns_),
      present_(rows_ * columns_) {}

bool RowRing::begin(std::size_t columns, Slot& slot) {
  CORRAL_ASSERT(columns <= columns_);
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  if (written - taken_.load(std::memory_order_acquire) >= rows_) return false;
  const std::size_t at = written % rows_;
  heads_[at].columns = columns;
  slot = {.values = std::span(values_).subspan(at * columns_, columns),
          .present = std::span(present_).subspan(at * columns_, columns)};
  std::fill(slot.present.begin(), slot.present.end(), std::uint8_t{0});
  return true;
}

void RowRing::commit(int group, BootTime time) {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  heads_[written % rows_].group = group;
  heads_[written % rows_].time = time;
  written_.store(written + 1, std::memory_order_release);
}

void RowRing::drain(const std::function<void(const RowView&)>& take) {
  const std::uint64_t end = written_.load(std::memory_order_acquire);
  for (std::uint64_t i = taken_.load(std::memory_order_relaxed); i < end; ++i) {
    const std::size_t at = i % rows_;
    const Head& head = heads_[at];
    take({.group = head.group,
          .time = head.time,
          .values = std::span<const double>(values_).subspan(at * columns_, head.columns),
          .present = std::span<const std::uint8_t>(present_).subspan(at * columns_, head.columns)});
    taken_.store(i + 1, std::memory_order_release);
  }
}

}  // namespace corral::collect
