// Reduces a path of points in the plane to points that light the same pixels.
//
// It assumes a rasteriser that maps points to the cells of a width x height grid and joins the
// cells of consecutive points. A path that stays in one column of cells lights the rows between its
// lowest and its highest point, so each such stay keeps its first, lowest, highest and last point
// (M4 for an x that may go back). Stays in one row are reduced likewise. A path that runs one way
// along either axis keeps at most four points per column or row of pixels; one that jumps about
// keeps all of its jumps. Memory: the points that are kept. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace corral::query {

struct PathPoint {
  double x = 0, y = 0;
  std::int64_t time = 0;  // UTC, ns
  bool starts = false;    // the line from the point before does not lead here
  bool operator==(const PathPoint&) const = default;
};

// From `low` to `high`, both inside, in `cells` cells.
struct PixelAxis {
  double low = 0, high = 1;
  std::uint32_t cells = 1;
  bool log = false;  // low > 0

  [[nodiscard]] bool contains(double value) const { return value >= low && value <= high; }
  // The cell of a value; values outside lie beyond 0 or cells - 1, at most 2^30 away.
  [[nodiscard]] std::int64_t cell(double value) const;
};

struct PixelPlane {
  PixelAxis x, y;
};

// Points of which a line within the plane may need: where neither it nor a neighbour of it is
// inside in x the path is cut.
std::vector<PathPoint> reduce_path(const std::vector<PathPoint>& path, const PixelPlane& plane);

// For points that are not joined: the first in each cell, at most `most`; points outside are
// skipped.
struct PlacedPoints {
  std::vector<PathPoint> points;
  std::size_t left_out = 0;  // occupied cells beyond `most`
};
PlacedPoints reduce_points(const std::vector<PathPoint>& path, const PixelPlane& plane,
                           std::size_t most);

}  // namespace corral::query
