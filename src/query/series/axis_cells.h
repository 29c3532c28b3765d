// AxisCells: an axis (time or step) cut into half-open cells, for everything that is reduced from
// full data to one value per cell.
//
// A uniform grid has the cells of query/series/grid.h: cell i of [from, to) in n cells begins at
// the least x with (x - from) * n / (to - from) >= i, exact for every int64. On a grid over time
// relative to something, from and to are relative and each series brings its own `origin` (UTC,
// ns), for example the start of its run. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "query/series/grid.h"
#include "query/series/inputs.h"

namespace corral::query {

inline constexpr std::uint32_t kMaxGridColumns = 8192;

enum class GridAxis : std::uint8_t { kTime, kStep };

// Half-open range of an axis in equal columns. Time: ns, UTC or relative to each series' origin.
struct AxisGrid {
  GridAxis axis = GridAxis::kTime;
  std::int64_t from = 0, to = 0;
  std::uint32_t columns = 0;
  bool operator==(const AxisGrid&) const = default;
};
// kInvalidArgument: empty range, no column, more than kMaxGridColumns.
Result<> check_grid(const AxisGrid& grid);

class AxisCells {
 public:
  // Ascending borders, at least two; cell i is [borders[i], borders[i + 1]), possibly empty.
  explicit AxisCells(std::vector<std::int64_t> borders);
  // Shifted by `origin` on the time axis; cells outside of int64 are cut off.
  static AxisCells uniform(const AxisGrid& grid, std::int64_t origin);

  [[nodiscard]] std::size_t size() const { return borders_.size() - 1; }
  [[nodiscard]] std::int64_t begin() const { return borders_.front(); }
  [[nodiscard]] std::int64_t end() const { return borders_.back(); }
  [[nodiscard]] std::int64_t begin(std::size_t cell) const { return borders_[cell]; }
  [[nodiscard]] std::int64_t end(std::size_t cell) const { return borders_[cell + 1]; }
  [[nodiscard]] bool contains(std::int64_t x) const { return x >= begin() && x < end(); }
  // The cell of an x inside the range; quick when it is `hint` or the one after.
  [[nodiscard]] std::size_t find(std::int64_t x, std::size_t hint) const {
    if (x >= borders_[hint] && x < borders_[hint + 1]) return hint;
    if (hint + 2 < borders_.size() && x >= borders_[hint + 1] && x < borders_[hint + 2])
      return hint + 1;
    return search(x);
  }
  [[nodiscard]] const std::vector<std::int64_t>& borders() const { return borders_; }

 private:
  [[nodiscard]] std::size_t search(std::int64_t x) const;

  std::vector<std::int64_t> borders_;
};

// a + b and b - a without overflow: cut off at the ends of int64, and as a double.
std::int64_t add_clipped(std::int64_t a, std::int64_t b);
inline double difference(std::int64_t from, std::int64_t to) {
  return to >= from ? static_cast<double>(distance(from, to))
                    : -static_cast<double>(distance(to, from));
}

}  // namespace corral::query
