#include "query/series/smooth_windows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "query/series/cell_walk.h"
#include "query/series/extent.h"

namespace corral::query {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kCut = 4;            // standard deviations of a Gaussian
constexpr double kCellsOfWidth = 16;  // cells in one standard deviation
constexpr double kMostCells = 1U << 18U;
constexpr double kMostPairs = 1U << 24U;  // of points and columns that one by one is quick for
constexpr double kLeastWeight = 0.011108996538242306;  // of a point 3 deviations away: exp(-4.5)

struct Mass {
  double sum = 0;
  std::uint64_t count = 0;
};

class MassSink {
 public:
  MassSink(const AxisCells& cells, GridAxis axis, bool exact)
      : cells_(cells),
        steps_(axis == GridAxis::kStep),
        exact_(exact),
        limit_(difference(cells.begin(), cells.end()) / static_cast<double>(cells.size()) / 2),
        mass(cells.size()) {}

  [[nodiscard]] bool takes(std::size_t, const codec::Bucket& b, int level, bool whole) const {
    if (whole) return true;
    return !exact_ && (level == 0 || difference(x0(b), x1(b)) <= limit_);
  }
  void bucket(std::size_t cell, const codec::Bucket& b, std::int64_t) {
    if (x1(b) >= cells_.end(cell)) {
      estimated = true;
      cell = cells_.find(x0(b) + static_cast<std::int64_t>(distance(x0(b), x1(b)) / 2), cell);
    }
    mass[cell].sum += b.sum;
    mass[cell].count += b.count - b.not_finite();
  }
  void points(std::size_t cell, const PointSpan& span) {
    for (const double v : span.values) {
      if (!std::isfinite(v)) continue;
      mass[cell].sum += v;
      ++mass[cell].count;
    }
  }

 private:
  [[nodiscard]] std::int64_t x0(const codec::Bucket& b) const { return steps_ ? b.s0 : b.t0; }
  [[nodiscard]] std::int64_t x1(const codec::Bucket& b) const { return steps_ ? b.s1 : b.t1; }

  const AxisCells& cells_;
  bool steps_, exact_;
  double limit_;

 public:
  std::vector<Mass> mass;
  bool estimated = false;
};

std::int64_t middle_of(const AxisCells& columns, std::size_t i) {
  return columns.begin(i) +
         static_cast<std::int64_t>(distance(columns.begin(i), columns.end(i)) / 2);
}

// ---- running mean: cells between all ends of windows
struct Window {
  std::int64_t from = 0, to = 0;
};

std::vector<Window> windows_of(const AxisCells& columns, std::int64_t width) {
  std::vector<Window> windows(columns.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    windows[i].from = add_clipped(middle_of(columns, i), -(width / 2));
    windows[i].to = add_clipped(windows[i].from, width);
  }
  return windows;
}

AxisCells cells_of(const std::vector<Window>& windows) {
  std::vector<std::int64_t> borders;
  for (const Window& w : windows) borders.insert(borders.end(), {w.from, w.to});
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  if (borders.size() < 2) borders.push_back(borders.front());
  return AxisCells(std::move(borders));
}

std::vector<double> means(const std::vector<Window>& windows, const AxisCells& cells,
                          const std::vector<Mass>& mass) {
  std::vector<double> values(windows.size(), kNone);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto& borders = cells.borders();
    auto cell = static_cast<std::size_t>(std::ranges::lower_bound(borders, windows[i].from) -
                                         borders.begin());
    Mass all;
    for (; cell < mass.size() && cells.begin(cell) < windows[i].to; ++cell) {
      all.sum += mass[cell].sum;
      all.count += mass[cell].count;
    }
    if (all.count > 0) values[i] = all.sum / static_cast<double>(all.count);
  }
  return values;
}

// ---- Gaussian: cells of a sixteenth of its width, around the grid as well
// The grid and what a Gaussian reaches beside it.
AxisCells around_of(const AxisCells& columns, double width) {
  const auto margin = static_cast<std::int64_t>(std::ceil(kCut * width));
  return AxisCells({add_clipped(columns.begin(), -margin), add_clipped(columns.end(), margin)});
}

AxisCells gaussian_cells(const AxisCells& columns, double width) {
  const double least = width / kCellsOfWidth;
  const AxisCells around = around_of(columns, width);
  const std::int64_t from = around.begin();
  const std::int64_t to = around.end();
  const double length = difference(from, to);
  const auto count =
      static_cast<std::size_t>(std::max(1.0, std::floor(std::min(length, length / least))));
  std::vector<std::int64_t> borders(count + 1, to);
  for (std::size_t i = 0; i < count; ++i) {
    const double offset = length / static_cast<double>(count) * static_cast<double>(i);
    borders[i] = add_clipped(from, static_cast<std::int64_t>(offset));
  }
  return AxisCells(std::move(borders));
}

std::vector<double> gaussian(const AxisCells& columns, const AxisCells& cells,
                             const std::vector<Mass>& mass, double width) {
  std::vector<double> values(columns.size(), kNone);
  const auto reach = static_cast<std::int64_t>(std::ceil(kCut * width));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t middle = middle_of(columns, i);
    const std::int64_t from = std::max(cells.begin(), add_clipped(middle, -reach));
    double sum = 0;
    double weight = 0;
    for (std::size_t c = cells.find(from, 0); c < mass.size(); ++c) {
      if (mass[c].count == 0) continue;
      // The middle of the x that the cell has: one x is its own middle.
      const double x =
          (difference(middle, cells.begin(c)) + difference(middle, cells.end(c)) - 1) / (2 * width);
      if (x > kCut) break;
      if (x < -kCut) continue;
      const double w = std::exp(-x * x / 2);
      sum += w * mass[c].sum;
      weight += w * static_cast<double>(mass[c].count);
    }
    if (weight >= kLeastWeight) values[i] = sum / weight;
  }
  return values;
}

// ---- Gaussian: every point in every column that it reaches
class GaussianSink {
 public:
  GaussianSink(const AxisCells& columns, GridAxis axis, double width)
      : steps_(axis == GridAxis::kStep),
        width_(width),
        reach_(static_cast<std::int64_t>(std::ceil(kCut * width))) {
    for (std::size_t i = 0; i < columns.size(); ++i) middles_.push_back(middle_of(columns, i));
    sums_.resize(columns.size());
    weights_.resize(columns.size());
  }

  static bool takes(std::size_t, const codec::Bucket&, int, bool) { return false; }
  static void bucket(std::size_t, const codec::Bucket&, std::int64_t) {}
  void points(std::size_t, const PointSpan& span) {
    const auto xs = steps_ ? span.steps : span.times;
    const auto from = std::ranges::lower_bound(middles_, add_clipped(xs.front(), -reach_));
    auto first = static_cast<std::size_t>(from - middles_.begin());
    for (std::size_t i = 0; i < span.size(); ++i) {
      const std::int64_t least = add_clipped(xs[i], -reach_);
      const std::int64_t most = add_clipped(xs[i], reach_);
      while (first < middles_.size() && middles_[first] < least) ++first;
      if (!std::isfinite(span.values[i])) continue;
      for (std::size_t c = first; c < middles_.size() && middles_[c] <= most; ++c)
        add(c, xs[i], span.values[i]);
    }
  }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> values(sums_.size(), kNone);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (weights_[i] >= kLeastWeight) values[i] = sums_[i] / weights_[i];
    return values;
  }

 private:
  void add(std::size_t column, std::int64_t x, double value) {
    const double distance = difference(middles_[column], x) / width_;
    if (std::abs(distance) > kCut) return;
    const double weight = std::exp(-distance * distance / 2);
    sums_[column] += weight * value;
    weights_[column] += weight;
  }

  bool steps_;
  double width_;
  std::int64_t reach_;
  std::vector<std::int64_t> middles_;
  std::vector<double> sums_, weights_;
};

// nullopt: that would be too many.
Result<std::optional<std::vector<double>>> gaussian_of_points(Cursor& cursor,
                                                              const AxisCells& columns,
                                                              const SmoothRequest& request) {
  const double width = request.options.width;
  const GridAxis axis = request.grid.axis;
  const AxisCells around = around_of(columns, width);
  const std::uint64_t count = TRY(count_points(cursor, axis, around.begin(), around.end()));
  const auto all = static_cast<double>(columns.size());
  const double column = difference(columns.begin(), columns.end()) / all;
  const double reached = std::min(all, 2 * kCut * width / std::max(column, 1e-9) + 2);
  if (count > request.options.max_points || static_cast<double>(count) * reached > kMostPairs)
    return std::nullopt;
  GaussianSink sink(columns, axis, width);
  TRY(walk_cells(cursor, around, {.axis = axis}, sink));
  return sink.values();
}

}  // namespace

Result<SmoothedSeries> smooth_window(store::PointView& view, const SeriesInput& input,
                                     const SmoothRequest& request) {
  const SmoothOptions& options = request.options;
  const GridAxis axis = request.grid.axis;
  const AxisCells columns =
      AxisCells::uniform(request.grid, axis == GridAxis::kStep ? 0 : input.origin);
  Cursor cursor(view, input.series, input.channel);
  SmoothedSeries series;
  series.id = input.series;
  const bool mean = options.kind == Smoothing::kRunningMean;
  if (!mean) {
    if (auto values = TRY(gaussian_of_points(cursor, columns, request))) {
      series.values = *std::move(values);
      series.width = options.width;
      series.lost = cursor.lost(axis, around_of(columns, options.width));
      return series;
    }
  }
  // (length + 8 widths) / (width / 16) cells are at most kMostCells.
  const double least = kCellsOfWidth * difference(columns.begin(), columns.end()) /
                       (kMostCells - 2 * kCut * kCellsOfWidth);
  series.width = mean ? std::max(1.0, std::round(options.width)) : std::max(options.width, least);
  const std::vector<Window> windows =
      mean ? windows_of(columns, static_cast<std::int64_t>(series.width)) : std::vector<Window>{};
  const AxisCells cells = mean ? cells_of(windows) : gaussian_cells(columns, series.width);
  const std::uint64_t count = TRY(count_points(cursor, axis, cells.begin(), cells.end()));
  MassSink sink(cells, axis, count <= options.max_points);
  TRY(walk_cells(cursor, cells, {.axis = axis}, sink));
  series.values =
      mean ? means(windows, cells, sink.mass) : gaussian(columns, cells, sink.mass, series.width);
  series.from_buckets = sink.estimated || !mean;
  series.lost = cursor.lost(axis, cells);
  return series;
}

}  // namespace corral::query
