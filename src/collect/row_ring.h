// RowRing: rows from the sampler thread to the one consumer thread, without locks and without
// waiting.
//
// All memory is taken at construction. A full ring refuses the new row; the sampler counts it. One
// producer thread (begin, commit), one consumer thread (drain).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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

  std::size_t rows_;
  std::size_t columns_;
  std::vector<Head> heads_;
  std::vector<double> values_;
  std::vector<std::uint8_t> present_;
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
};

}  // namespace corral::collect
