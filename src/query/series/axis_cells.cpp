#include "query/series/axis_cells.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace corral::query {
std::int64_t add_clipped(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

Result<> check_grid(const AxisGrid& grid) {
  if (grid.from >= grid.to) {
    return fail(Code::kInvalidArgument,
                fmt::format("the grid must begin ({}) before it ends ({})", grid.from, grid.to));
  }
  if (grid.columns < 1 || grid.columns > kMaxGridColumns) {
    return fail(Code::kInvalidArgument, fmt::format("columns must be between 1 and {}, got {}",
                                                    kMaxGridColumns, grid.columns));
  }
  return {};
}

AxisCells::AxisCells(std::vector<std::int64_t> borders) : borders_(std::move(borders)) {
  CORRAL_ASSERT(borders_.size() >= 2 && std::ranges::is_sorted(borders_));
}

AxisCells AxisCells::uniform(const AxisGrid& grid, std::int64_t origin) {
  if (grid.axis == GridAxis::kStep) origin = 0;
  const Grid cells(grid.from, grid.to, grid.columns);
  std::vector<std::int64_t> borders(grid.columns + std::size_t{1});
  for (std::uint32_t i = 0; i <= grid.columns; ++i)
    borders[i] = add_clipped(cells.border(i), origin);
  return AxisCells(std::move(borders));
}

std::size_t AxisCells::search(std::int64_t x) const {
  const auto after = std::ranges::upper_bound(borders_, x);
  return static_cast<std::size_t>(after - borders_.begin()) - 1;
}

}  // namespace corral::query
