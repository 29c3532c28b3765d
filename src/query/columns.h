// The reduction itself, one point at a time, in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "query/chart.h"

namespace corral::query {

// The half-open range [from, to) cut into `width` columns of equal length; exact for every int64
// range.
class Grid {
 public:
  // to > from, width > 0.
  Grid(std::int64_t from, std::int64_t to, std::uint32_t width);
  [[nodiscard]] bool contains(std::int64_t time) const { return time >= from_ && time < to_; }
  // Of a time inside the range.
  [[nodiscard]] std::uint32_t column(std::int64_t time) const;
  // Distance from the left edge in columns.
  [[nodiscard]] float x(std::int64_t time) const;

 private:
  std::int64_t from_;
  std::int64_t to_;
  std::uint64_t length_;
  std::uint32_t width_;
};

class Columns {
 public:
  explicit Columns(const Grid& grid) : grid_(&grid) {}
  // Points outside the grid's range are left aside.
  void add(std::int64_t time, double value);
  // Moves what was gathered into `series`.
  void finish(ChartSeries& series);

 private:
  ChartColumn& column_at(std::uint32_t index);

  const Grid* grid_;
  std::uint64_t points_ = 0;
  std::uint64_t nan_ = 0;
  std::vector<ChartColumn> columns_;  // ascending by index
};

}  // namespace corral::query
