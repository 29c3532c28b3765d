#include "query/columns.h"

#include <algorithm>
#include <cmath>

#include "core/result.h"

namespace corral::query {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

}  // namespace

Grid::Grid(std::int64_t from, std::int64_t to, std::uint32_t width)
    : from_(from), to_(to), length_(distance(from, to)), width_(width) {
  CORRAL_ASSERT(to > from && width > 0);
}

std::uint32_t Grid::column(std::int64_t time) const {
  return static_cast<std::uint32_t>(Wide{distance(from_, time)} * width_ / length_);
}

float Grid::x(std::int64_t time) const {
  return static_cast<float>(static_cast<double>(distance(from_, time)) /
                            static_cast<double>(length_) * width_);
}

void Columns::add(std::int64_t time, double value) {
  if (!grid_->contains(time)) return;
  ++points_;
  if (!std::isfinite(value)) {
    ++nan_;
    return;
  }
  const ChartPoint point{.time = time, .value = value};
  ChartColumn& column = column_at(grid_->column(time));
  if (column.points++ == 0) {
    column.first = column.min = column.max = column.last = point;
    return;
  }
  if (time < column.first.time) column.first = point;
  if (time >= column.last.time) column.last = point;
  if (value < column.min.value || (value == column.min.value && time < column.min.time))
    column.min = point;
  if (value > column.max.value || (value == column.max.value && time < column.max.time))
    column.max = point;
}

// Points mostly come in order: the last column, or a new one after it.
ChartColumn& Columns::column_at(std::uint32_t index) {
  if (!columns_.empty() && columns_.back().index == index) return columns_.back();
  auto at = columns_.end();
  if (!columns_.empty() && index < columns_.back().index)
    at = std::ranges::lower_bound(columns_, index, {}, &ChartColumn::index);
  if (at != columns_.end() && at->index == index) return *at;
  ChartColumn fresh;
  fresh.index = index;
  return *columns_.insert(at, fresh);
}

void Columns::finish(ChartSeries& series) {
  series.points = points_;
  series.nan = nan_;
  series.columns = std::move(columns_);
}

}  // namespace corral::query
