// ColumnSet: gathers the points and buckets of one line into the columns of a grid, in any order.
//
// Values compare as numbers: -0.0 is 0.0. Keeps the storage of its columns from line to line. One
// thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "query/chart/m4/answer.h"
#include "query/series/grid.h"

namespace corral::query::m4 {

// A finite point with its position in order of arrival.
struct Candidate {
  ChartPoint point;
  std::int64_t position = 0;
};

struct ColumnState {
  std::uint64_t points = 0;  // finite
  std::uint64_t not_finite = 0;
  ChartPoint min, max;
  // Without a first one: later, and a last one: earlier than any candidate.
  Candidate first{{std::numeric_limits<std::int64_t>::max(), 0},
                  std::numeric_limits<std::int64_t>::max()};
  Candidate last{{std::numeric_limits<std::int64_t>::min(), 0}, -1};
};

// The order that decides which points are first and last.
enum class Order : std::uint8_t { kByX, kByArrival };

// Points that are taken as one: their extremes, and how many they are.
struct Extremes {
  ChartPoint min, max;
  std::uint64_t points = 0;  // finite; 0: min and max mean nothing
  std::uint64_t not_finite = 0;
};

class ColumnSet {
 public:
  ColumnSet(const Grid& grid, Order order) : grid_(grid), order_(order), columns_(grid.width()) {}

  // Adds points inside the grid, ascending in x, consecutive in arrival from `position` on. Returns
  // the number of those that are not finite.
  std::uint64_t add_run(std::span<const std::int64_t> xs, std::span<const double> values,
                        std::int64_t position);
  // Everything of some points but which is first and last.
  void add_extremes(std::uint32_t column, const Extremes& extremes);
  void offer_first(std::uint32_t column, const Candidate& candidate);
  void offer_last(std::uint32_t column, const Candidate& candidate);

  [[nodiscard]] const ColumnState& column(std::uint32_t index) const { return columns_[index]; }
  [[nodiscard]] bool empty() const { return low_ >= high_; }
  // Appends the gathered columns to `out`, with `origin` subtracted from x, and begins anew.
  void flush(ChartSeries& out);

 private:
  std::uint64_t add_cell(std::uint32_t column, std::span<const std::int64_t> xs,
                         std::span<const double> values, std::int64_t position);
  std::uint64_t add_slowly(ColumnState& state, std::span<const std::int64_t> xs,
                           std::span<const double> values, std::int64_t position);
  ColumnState& touch(std::uint32_t column);
  [[nodiscard]] bool earlier(const Candidate& a, const Candidate& b) const;

  Grid grid_;
  Order order_;
  std::vector<ColumnState> columns_;
  std::uint32_t low_ = std::numeric_limits<std::uint32_t>::max(), high_ = 0;  // touched
};

}  // namespace corral::query::m4
