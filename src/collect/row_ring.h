// RowRing: rows from the sampler thread to the one consumer thread, without locks and without
// waiting.
//
// All memory is taken at construction, but only what rows ever waited in is touched: whenever the
// consumer has taken all, the next row is the first again. A full ring refuses the new row; the
// sampler counts it. TimedPoints are the same for points that bring times of their own: those that
// do not fit are lost and counted. One producer thread (begin, commit, add, take_lost), one
// consumer thread (drain).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "collect/series.h"
#include "core/time.h"

namespace corral::collect {

struct RowView {
  int group;
  BootTime time;  // when the row's reads were done
  std::span<const double> values;
  std::span<const std::uint8_t> present;  // 1 where the value of that column is there
};

class RowRing {
 public:
  RowRing(std::size_t rows, std::size_t columns);

  struct Slot {
    std::span<double> values;
    std::span<std::uint8_t> present;
  };
  // Producer: the next free slot with every value absent; false when the ring is full. Nothing is
  // seen before commit().
  bool begin(std::size_t columns, Slot& slot);
  void commit(int group, BootTime time);

  // Consumer: hands over all rows committed so far, in order. `take` must not keep the spans.
  void drain(const std::function<void(const RowView&)>& take);

 private:
  struct Head {
    int group = 0;
    BootTime time;
    std::size_t columns = 0;
  };

  [[nodiscard]] std::size_t place(std::uint64_t row) const { return (row - base_) % rows_; }

  std::size_t rows_;
  std::size_t columns_;
  std::vector<Head> heads_;
  std::unique_ptr<double[]> values_;
  std::unique_ptr<std::uint8_t[]> present_;
  // The row that lies first. Owned by the producer, which changes it only while no row waits;
  // written_ publishes it.
  std::uint64_t base_ = 0;
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
};

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
