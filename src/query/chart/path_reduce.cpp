#include "query/chart/path_reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

namespace corral::query {
namespace {

constexpr double kFar = 1 << 30;

// The stay of a path in one column (or row): its points by the other coordinate.
template <class Cell, class Other>
class Stay {
 public:
  Stay(Cell cell, Other other, std::vector<PathPoint>& out)
      : cell_(cell), other_(other), out_(out) {}

  void add(const PathPoint& point) {
    const std::int64_t cell = cell_(point);
    if (count_ > 0 && !point.starts && cell == at_) {
      const std::int64_t other = other_(point);
      if (other < least_) {
        least_ = other;
        kept_[1] = {count_, point};
      }
      if (other > most_) {
        most_ = other;
        kept_[2] = {count_, point};
      }
      kept_[3] = {count_++, point};
      return;
    }
    flush();
    at_ = cell;
    least_ = most_ = other_(point);
    kept_.fill({0, point});
    count_ = 1;
  }
  void flush() {
    if (count_ == 0) return;
    std::ranges::sort(kept_, {}, [](const auto& kept) { return kept.first; });
    for (std::size_t i = 0; i < kept_.size(); ++i)
      if (i == 0 || kept_[i].first != kept_[i - 1].first) out_.push_back(kept_[i].second);
    count_ = 0;
  }

 private:
  Cell cell_;
  Other other_;
  std::vector<PathPoint>& out_;
  std::array<std::pair<std::size_t, PathPoint>, 4> kept_;
  std::int64_t at_ = 0, least_ = 0, most_ = 0;
  std::size_t count_ = 0;
};

template <class Cell, class Other>
std::vector<PathPoint> reduce_stays(const std::vector<PathPoint>& path, Cell cell, Other other) {
  std::vector<PathPoint> out;
  Stay<Cell, Other> stay(cell, other, out);
  for (const PathPoint& point : path) stay.add(point);
  stay.flush();
  return out;
}

// The points inside in x, with those just before and after.
std::vector<PathPoint> cut(const std::vector<PathPoint>& path, const PixelAxis& x) {
  std::vector<PathPoint> out;
  bool joined = false;  // `out` ends with the point before
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool inside = x.contains(path[i].x);
    const bool after = i > 0 && !path[i].starts && x.contains(path[i - 1].x);
    const bool before = i + 1 < path.size() && !path[i + 1].starts && x.contains(path[i + 1].x);
    if (!inside && !after && !before) {
      joined = false;
      continue;
    }
    out.push_back(path[i]);
    // A point may be the one after a visit and the one before the next: the lines go through it.
    out.back().starts = path[i].starts || !joined;
    joined = true;
  }
  return out;
}

}  // namespace

std::int64_t PixelAxis::cell(double value) const {
  double share = 0;
  if (log) {
    share = value > 0 ? std::log(value / low) / std::log(high / low) : -kFar;
  } else {
    // Halves: the difference of any two doubles.
    share = (value / 2 - low / 2) / (high / 2 - low / 2);
  }
  if (!(high > low)) share = value < low ? -kFar : value > low ? kFar : 0;
  const double at = std::floor(share * cells);
  if (value == high && high > low) return static_cast<std::int64_t>(cells) - 1;
  return static_cast<std::int64_t>(std::clamp(std::isnan(at) ? 0 : at, -kFar, kFar));
}

std::vector<PathPoint> reduce_path(const std::vector<PathPoint>& path, const PixelPlane& plane) {
  const auto column = [&](const PathPoint& p) { return plane.x.cell(p.x); };
  const auto row = [&](const PathPoint& p) { return plane.y.cell(p.y); };
  return reduce_stays(reduce_stays(cut(path, plane.x), column, row), row, column);
}

PlacedPoints reduce_points(const std::vector<PathPoint>& path, const PixelPlane& plane,
                           std::size_t most) {
  PlacedPoints out;
  std::unordered_set<std::int64_t> occupied;
  for (const PathPoint& point : path) {
    if (!plane.x.contains(point.x) || !plane.y.contains(point.y)) continue;
    const std::int64_t cell = plane.y.cell(point.y) * plane.x.cells + plane.x.cell(point.x);
    if (!occupied.insert(cell).second) continue;
    if (out.points.size() < most) {
      out.points.push_back(point);
      out.points.back().starts = true;
    } else {
      ++out.left_out;
    }
  }
  return out;
}

}  // namespace corral::query
