#include "query/series/smooth.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "query/series/cell_walk.h"
#include "query/series/extent.h"
#include "query/series/point_stream.h"

namespace corral::query {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// ---- centred windows: Gaussian and running mean, from sums and counts of cells
constexpr double kCut = 4;            // standard deviations of a Gaussian
constexpr double kCellsOfWidth = 16;  // cells in one standard deviation
constexpr double kMostCells = 1U << 18U;
constexpr double kMostPairs =
    1U << 24U;  // pairs of point and column; up to so many, each is computed
constexpr double kLeastWeight =
    0.011108996538242306;  // the weight of a point 3 deviations away: exp(-4.5)

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

std::vector<Window> windows_around(const AxisCells& columns, std::int64_t width) {
  std::vector<Window> windows(columns.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    windows[i].from = add_clipped(middle_of(columns, i), -(width / 2));
    windows[i].to = add_clipped(windows[i].from, width);
  }
  return windows;
}

AxisCells cells_between(const std::vector<Window>& windows) {
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
// Returns the grid with the cells beside it that a Gaussian reaches.
AxisCells widened(const AxisCells& columns, double width) {
  const auto margin = static_cast<std::int64_t>(std::ceil(kCut * width));
  return AxisCells({add_clipped(columns.begin(), -margin), add_clipped(columns.end(), margin)});
}

AxisCells gaussian_cells(const AxisCells& columns, double width) {
  const double least = width / kCellsOfWidth;
  const AxisCells around = widened(columns, width);
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
  const AxisCells around = widened(columns, width);
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

Result<SmoothedSeries> smooth_window(store::PointView& view, const SeriesInput& input,
                                     const SmoothRequest& request) {
  const SmoothOptions& options = request.options;
  const GridAxis axis = request.grid.axis;
  const AxisCells columns = AxisCells::uniform(request.grid, input.origin);
  Cursor cursor(view, input.series, input.channel);
  SmoothedSeries series;
  series.id = input.series;
  const bool mean = options.kind == Smoothing::kRunningMean;
  if (!mean) {
    if (auto values = TRY(gaussian_of_points(cursor, columns, request))) {
      series.values = *std::move(values);
      series.width = options.width;
      series.lost = cursor.lost(axis, widened(columns, options.width));
      return series;
    }
  }
  // (length + 8 widths) / (width / 16) cells are at most kMostCells.
  const double least = kCellsOfWidth * difference(columns.begin(), columns.end()) /
                       (kMostCells - 2 * kCut * kCellsOfWidth);
  series.width = mean ? std::max(1.0, std::round(options.width)) : std::max(options.width, least);
  const std::vector<Window> windows =
      mean ? windows_around(columns, static_cast<std::int64_t>(series.width))
           : std::vector<Window>{};
  const AxisCells cells = mean ? cells_between(windows) : gaussian_cells(columns, series.width);
  const std::uint64_t count = TRY(count_points(cursor, axis, cells.begin(), cells.end()));
  MassSink sink(cells, axis, count <= options.max_points);
  TRY(walk_cells(cursor, cells, {.axis = axis}, sink));
  series.values =
      mean ? means(windows, cells, sink.mass) : gaussian(columns, cells, sink.mass, series.width);
  series.from_buckets = sink.estimated || !mean;
  series.lost = cursor.lost(axis, cells);
  return series;
}

// ---- moving averages
constexpr auto kOldest = std::numeric_limits<std::int64_t>::min();
constexpr auto kNewest = std::numeric_limits<std::int64_t>::max();
constexpr double kFarBack = 20;  // ... after which a bucket does (2e-9)
// Decay lengths that a bucket may be long anywhere, and one of 256 points; its mean stands for it,
// which shifts its value by less than a hundredth of what the average lags behind.
constexpr double kShort = 0.03;
constexpr double kShortest = 0.25;
constexpr double kToTell = 1e-6;  // share of a value that came from buckets

// The factor by which the earlier of two points weighs less: exp(-rate * distance).
struct Decay {
  bool per_point = false;
  double rate = 0;  // per x, or per point

  explicit Decay(const SmoothOptions& options)
      : per_point(options.kind == Smoothing::kPointEma),
        rate(-std::log(options.alpha) / (per_point ? 1.0 : options.unit)) {}
};

// The average, point by point and bucket by bucket, in order. Cell 0 holds all before the grid. On
// the step axis the last cell holds all behind it, because steps may go back from there.
class Average {
 public:
  // The points that must be taken one by one: all; those in the grid, and before it those that
  // still weigh something; or only where buckets will not do.
  enum class Points { kAll, kInReach, kSome };

  Average(const AxisCells& cells, GridAxis axis, Decay decay)
      : steps_(axis == GridAxis::kStep),
        decay_(decay),
        factor_(std::exp(-decay.rate)),
        out_(cells.size(), kNone),
        ends_(cells.borders().begin() + 1, cells.borders().end()),
        last_(cells.size(), 0),
        by_far_(cells.size(), false) {}

  void use(Points points) { use_ = points; }
  void any_order() { any_order_ = true; }
  void restart() {
    out_.assign(out_.size(), kNone);
    by_far_.assign(out_.size(), false);
    seen_ = overlaps_ = from_buckets_ = any_ = false;
    sum_ = weight_ = estimated_ = far_ = 0;
  }
  // True when buckets were taken for being far from the end of a column whose points end before it;
  // another walk, after restart(), knows where they do.
  bool learn_ends() {
    bool learned = false;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (!by_far_[i] || ends_[i] <= add_clipped(last_[i], 1)) continue;
      ends_[i] = add_clipped(last_[i], 1);
      learned = true;
    }
    return learned && !overlapped();
  }

  // kInReach: before the grid, only buckets that are far back by the clock or by the step.
  [[nodiscard]] bool takes(std::size_t cell, const codec::Bucket& b, int level, bool whole) const {
    if (overlapped()) return true;
    if (!whole || (steps_ && !b.steps_ascend)) return false;
    if (steps_ && cell + 1 == out_.size()) return true;
    if (use_ == Points::kAll) return false;
    if (use_ == Points::kInReach && cell > 0) return false;
    const double length = difference(x0(b), x1(b));
    const double to_end = difference(x1(b), ends_[cell]);
    const double points = b.count;
    const double limit = level == 0 ? kShortest : kShort;
    if (!decay_.per_point) {
      return to_end * decay_.rate > kFarBack ||
             (use_ == Points::kSome && length * decay_.rate <= limit);
    }
    // As many points to the end as its own density says.
    return points * decay_.rate <= limit ||
           to_end * (points / std::max(length, 1.0)) * decay_.rate > kFarBack;
  }

  void bucket(std::size_t cell, const codec::Bucket& b, std::int64_t) {
    if (!follows(x0(b), b.t0, b.t1)) return;
    const double count = b.count - b.not_finite();
    if (count == 0) return;
    const double before = decay_.per_point ? count : std::max(0.0, difference(x_, x1(b)));
    const double between = decay_.per_point ? 1.0
                           : count > 1      ? difference(x0(b), x1(b)) / (count - 1)
                                            : 0.0;
    const double step = -decay_.rate * between;
    const double weight = step < 0 ? std::expm1(step * count) / std::expm1(step) : count;
    const double decay = any_ ? std::exp(-decay_.rate * before) : 0.0;
    sum_ = sum_ * decay + b.sum / count * weight;
    weight_ = weight_ * decay + weight;
    estimated_ = estimated_ * decay + weight;
    const double length = decay_.per_point ? count : difference(x0(b), x1(b));
    far_ = far_ * decay + (length * decay_.rate > kShort ? weight : 0);
    x_ = x1(b);
    any_ = true;
    set(cell);
  }

  void points(std::size_t cell, const PointSpan& span) {
    const auto xs = steps_ ? span.steps : span.times;
    std::size_t first = 0;
    while (first < xs.size() && !std::isfinite(span.values[first])) ++first;
    if (first == xs.size() || !follows(xs[first], span.times[first], span.times.back())) return;
    for (std::size_t i = first; i < xs.size(); ++i) {
      const double v = span.values[i];
      if (!std::isfinite(v)) continue;
      const double decay = any_ ? (decay_.per_point ? factor_ : decay_to(xs[i])) : 0.0;
      sum_ = sum_ * decay + v;
      weight_ = weight_ * decay + 1;
      estimated_ *= decay;
      far_ *= decay;
      x_ = xs[i];
      any_ = true;
    }
    set(cell);
  }

  // Points overlap in time and are not taken in order of arrival: the walk was for nothing.
  [[nodiscard]] bool overlapped() const { return overlaps_ && !any_order_; }
  [[nodiscard]] SmoothedSeries result() const {
    SmoothedSeries series;
    series.in_order = !overlaps_;
    series.from_buckets = from_buckets_;
    series.values.assign(out_.begin() + 1, out_.end() - (steps_ ? 1 : 0));
    return series;
  }

 private:
  [[nodiscard]] std::int64_t x0(const codec::Bucket& b) const { return steps_ ? b.s0 : b.t0; }
  [[nodiscard]] std::int64_t x1(const codec::Bucket& b) const { return steps_ ? b.s1 : b.t1; }

  double decay_to(std::int64_t x) {
    const double distance = std::max(0.0, difference(x_, x));
    if (distance != distance_) {
      distance_ = distance;
      distance_factor_ = std::exp(-decay_.rate * distance);
    }
    return distance_factor_;
  }

  // True if the points that begin at x come next; begins anew where steps go back.
  bool follows(std::int64_t x, std::int64_t t0, std::int64_t t1) {
    if (seen_ && t0 < newest_) overlaps_ = true;
    newest_ = seen_ ? std::max(newest_, t1) : t1;
    seen_ = true;
    if (overlapped()) return false;
    if (steps_ && any_ && x < x_) {
      any_ = false;
      sum_ = weight_ = estimated_ = far_ = 0;
    }
    return true;
  }

  void set(std::size_t cell) {
    out_[cell] = sum_ / weight_;
    if (cell == 0 || (steps_ && cell + 1 == out_.size())) return;
    by_far_[cell] = far_ > weight_ * kToTell;
    last_[cell] = x_;
    if (estimated_ > weight_ * kToTell) from_buckets_ = true;
  }

  bool steps_;
  Decay decay_;
  double factor_;  // per point
  Points use_ = Points::kSome;
  bool any_order_ = false;
  bool seen_ = false, overlaps_ = false, from_buckets_ = false;
  std::int64_t newest_ = 0;
  double sum_ = 0, weight_ = 0;
  double estimated_ = 0;  // the part of weight_ that comes from buckets
  double far_ = 0;        // the part from long buckets, used because they are far back
  bool any_ = false;
  std::int64_t x_ = 0;
  double distance_ = -1, distance_factor_ = 1;
  std::vector<double> out_;
  std::vector<std::int64_t> ends_;  // ends of the cells, or of the points in them once known
  std::vector<std::int64_t> last_;  // x of the last point
  std::vector<bool> by_far_;        // cells whose value depends mostly on far_
};

// Times at which points are looked for that weigh something in the grid.
std::int64_t reach_before(const AxisCells& grid, Decay decay) {
  const double reach = kFarBack / decay.rate;
  return decay.per_point || reach > 4e18
             ? grid.begin()
             : add_clipped(grid.begin(), -static_cast<std::int64_t>(reach) - 1);
}

Result<> stream_average(Cursor& cursor, const AxisCells& cells, GridAxis axis, Average& average) {
  const bool steps = axis == GridAxis::kStep;
  auto stream = TRY(PointStream::open(cursor, kOldest, steps ? kNewest : cells.end(),
                                      {.times = true, .steps = steps}));
  CellCut<Average> cut(cells, axis, average);
  while (true) {
    const PointSpan span = TRY(stream.next());
    if (span.values.empty()) return {};
    cut.add(span);
  }
}

Result<Average> walk_average(Cursor& cursor, const AxisCells& cells, const SmoothRequest& request) {
  const GridAxis axis = request.grid.axis;
  const Decay decay(request.options);
  const std::uint64_t most = request.options.max_points;
  const CellWalkOptions walk{.axis = axis, .max_level = kTopLevel, .times = true};
  Average average(cells, axis, decay);
  const bool steps = axis == GridAxis::kStep;
  const AxisCells grid({cells.end(0), steps ? cells.begin(cells.size() - 1) : cells.end()});
  if (static_cast<std::uint64_t>(cursor.points()) <= most) {
    average.use(Average::Points::kAll);
  } else if (TRY(count_points(cursor, axis, reach_before(grid, decay), grid.end())) <= most) {
    average.use(Average::Points::kInReach);
  }
  TRY(walk_cells(cursor, cells, walk, average));
  if (average.learn_ends()) {
    average.restart();
    TRY(walk_cells(cursor, cells, walk, average));
  }
  if (!average.overlapped()) return average;
  average.restart();
  if (static_cast<std::uint64_t>(cursor.points()) <= most) {
    TRY(stream_average(cursor, cells, axis, average));
  } else {
    average.any_order();
    TRY(walk_cells(cursor, cells, walk, average));
  }
  return average;
}

Result<SmoothedSeries> average_one(store::PointView& view, const SeriesInput& input,
                                   const SmoothRequest& request) {
  const GridAxis axis = request.grid.axis;
  const AxisCells grid = AxisCells::uniform(request.grid, input.origin);
  std::vector<std::int64_t> borders = grid.borders();
  borders.insert(borders.begin(), kOldest);
  if (axis == GridAxis::kStep) borders.push_back(kNewest);
  const AxisCells cells(std::move(borders));
  Cursor cursor(view, input.series, input.channel);
  const Average average = TRY(walk_average(cursor, cells, request));
  SmoothedSeries series = average.result();
  series.id = input.series;
  series.lost = cursor.lost(axis, cells);
  return series;
}

Result<> check(const SmoothRequest& request) {
  TRY(check_grid(request.grid));
  const SmoothOptions& o = request.options;
  if (o.kind == Smoothing::kTimeEma || o.kind == Smoothing::kPointEma) {
    if (!(o.alpha > 0 && o.alpha < 1))
      return fail(Code::kInvalidArgument,
                  fmt::format("alpha must lie between 0 and 1, got {}", o.alpha));
    if (o.kind == Smoothing::kTimeEma && !(o.unit > 0 && o.unit < 1e18))
      return fail(Code::kInvalidArgument,
                  fmt::format("unit must be positive and below 1e18, got {}", o.unit));
  } else if (!(o.width > 0 && o.width < 1e18)) {
    return fail(Code::kInvalidArgument,
                fmt::format("width must be positive and below 1e18, got {}", o.width));
  }
  return {};
}

}  // namespace

Result<std::vector<SmoothedSeries>> smooth(store::PointView& view, const SmoothRequest& request) {
  TRY(check(request));
  const bool average =
      request.options.kind == Smoothing::kTimeEma || request.options.kind == Smoothing::kPointEma;
  std::vector<SmoothedSeries> all;
  all.reserve(request.series.size());
  for (const SeriesInput& input : request.series)
    all.push_back(
        TRY(average ? average_one(view, input, request) : smooth_window(view, input, request)));
  return all;
}

}  // namespace corral::query
