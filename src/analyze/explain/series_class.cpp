#include "analyze/explain/series_class.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analyze/explain/change_points.h"

namespace corral::analyze {
namespace {

constexpr double kTail = 0.005;           // share of the columns on each side
constexpr std::size_t kFewLevels = 2;     // changes of level
constexpr double kSmallQuantum = 0.05;    // part of the median
constexpr double kEqual = 1e-9;           // part of the greatest magnitude
constexpr double kLineShare = 0.8;        // part of the variance
constexpr double kDriftShare = 0.2;       // the same where the mean changes and never jumps
constexpr double kBurstReach = 8;         // median absolute deviations
constexpr double kBurstShare = 0.05;      // part of the columns
constexpr double kLeastLikeness = 0.999;  // |r|

// Values that are there, and their columns.
struct Filled {
  std::vector<double> values;
  std::vector<std::size_t> columns;
};
Filled filled(std::span<const double> columns) {
  Filled found;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!std::isfinite(columns[i])) continue;
    found.values.push_back(columns[i]);
    found.columns.push_back(i);
  }
  return found;
}

bool is_constant(const std::vector<double>& values, double quantum) {
  const double low = quantile_of(values, kTail), high = quantile_of(values, 1 - kTail);
  const double rounding = kEqual * std::max(std::abs(low), std::abs(high));
  // A flag that is 0 and then 1 moves by one quantum, and says a lot.
  const bool small = quantum <= kSmallQuantum * std::abs(quantile_of(values, 0.5));
  // So does a level that changes once or twice for good.
  std::size_t changes = 0;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (std::abs(values[i] - values[i - 1]) > rounding) ++changes;
  if (changes > 0 && changes <= kFewLevels) return high - low <= rounding;
  return high - low <= std::max(rounding, small ? quantum : 0);
}

bool has_bursts(const std::vector<double>& values) {
  const double median = quantile_of(values, 0.5);
  std::vector<double> far(values);
  for (double& value : far) value = std::abs(value - median);
  const double reach = std::max(kBurstReach * quantile_of(far, 0.5), kEqual * std::abs(median));
  const auto beyond = std::ranges::count_if(far, [&](double one) { return one > reach; });
  return beyond > 0 && static_cast<double>(beyond) < kBurstShare * static_cast<double>(far.size());
}

SeriesClass classify(const std::vector<double>& values, double quantum, const SeriesShape& shape) {
  const Jumps& jumps = shape.jumps;
  if (values.size() < kLeastJumpValues) return SeriesClass::kFew;
  if (is_constant(values, quantum)) return SeriesClass::kConstant;
  const double trend = jumps.drifts && jumps.period == 0 ? kDriftShare : kLineShare;
  if (jumps.jumps.empty() && shape.line.share >= trend) return SeriesClass::kTrend;
  if (!jumps.jumps.empty()) return SeriesClass::kSteps;
  if (jumps.period > 0) return SeriesClass::kPeriodic;
  return has_bursts(values) ? SeriesClass::kBursts : SeriesClass::kNoise;
}

// ---- duplicates

constexpr std::uint32_t kNoColumn = std::numeric_limits<std::uint32_t>::max();

// A sketch of length 1 around its mean.
using UnitSketch = std::vector<double>;  // NaN: no such column; empty: constant, or too few

// Over the columns that `other` has, too.
UnitSketch make_unit_sketch(const Sketch& sketch, const Sketch& other) {
  UnitSketch unit = sketch.values;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < unit.size(); ++i) {
    if (sketch.columns[i] != other.columns[i]) unit[i] = std::numeric_limits<double>::quiet_NaN();
    if (std::isnan(unit[i])) continue;
    sum += unit[i];
    ++count;
  }
  if (count < kLeastAlike) return {};
  double squares = 0;
  for (double& value : unit) {
    value -= sum / static_cast<double>(count);
    if (!std::isnan(value)) squares += value * value;
  }
  if (!(squares > 0)) return {};
  for (double& value : unit) value /= std::sqrt(squares);
  return unit;
}

// With |r| = cos, the squared distance of two of them is 2 - 2 |r|; most are further apart after
// a few columns.
bool point_alike(const UnitSketch& a, const UnitSketch& b) {
  constexpr double kMost = 2 - 2 * kLeastLikeness;
  if (a.empty() || b.empty()) return false;
  double same = 0, opposite = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i])) continue;
    const double minus = a[i] - b[i], plus = a[i] + b[i];
    same += minus * minus;
    opposite += plus * plus;
    if (same > kMost && opposite > kMost) return false;
  }
  return true;
}

// ---- ranks

// Equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i)
      ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

}  // namespace

std::string_view series_class_name(SeriesClass type) {
  switch (type) {
    case SeriesClass::kFew:
      return "few points";
    case SeriesClass::kConstant:
      return "constant";
    case SeriesClass::kDuplicate:
      return "duplicate";
    case SeriesClass::kTrend:
      return "trend";
    case SeriesClass::kSteps:
      return "steps";
    case SeriesClass::kPeriodic:
      return "periodic";
    case SeriesClass::kBursts:
      return "bursts";
    case SeriesClass::kNoise:
      return "noise";
  }
  return "";
}

double least_difference(std::vector<double> values) {
  std::ranges::sort(values);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double step = values[i] - values[i - 1];
    if (step > kEqual * std::abs(values[i])) least = std::min(least, step);
  }
  return std::isfinite(least) ? least : 0;
}

SeriesShape find_shape(std::span<const double> columns, double quantum) {
  const Filled there = filled(columns);
  SeriesShape shape;
  if (there.values.size() >= kLeastJumpValues && !is_constant(there.values, quantum)) {
    shape.line = fit_line(there.values);
    shape.jumps = find_jumps(there.values);
    const auto steps = static_cast<double>(there.values.size() - 1);
    const auto span = static_cast<double>(there.columns.back() - there.columns.front());
    shape.change = shape.line.slope * steps;
    shape.period = static_cast<double>(shape.jumps.period) * span / steps;
  }
  shape.type = classify(there.values, quantum, shape);
  for (Jump& jump : shape.jumps.jumps) {
    const std::size_t end = jump.at + jump.length;
    const std::size_t at = there.columns[jump.at];
    // Columns without points before it could be on either side.
    jump.reach =
        std::max(at - there.columns[jump.at - std::min(jump.reach, jump.at)], std::size_t{1});
    jump.length = (end < there.columns.size() ? there.columns[end] : columns.size()) - at;
    jump.at = at;
  }
  return shape;
}

Sketch make_sketch(std::span<const double> columns) {
  Sketch sketch{.values = std::vector(kSketchColumns, std::numeric_limits<double>::quiet_NaN()),
                .columns = std::vector(kSketchColumns, kNoColumn)};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::size_t part = i * kSketchColumns / columns.size();
    if (sketch.columns[part] != kNoColumn || !std::isfinite(columns[i])) continue;
    sketch.values[part] = columns[i];
    sketch.columns[part] = static_cast<std::uint32_t>(i);
  }
  return sketch;
}

std::vector<std::optional<std::size_t>> find_duplicates(std::span<const Sketch> sketches) {
  std::vector<std::optional<std::size_t>> found(sketches.size());
  std::vector<UnitSketch> units(sketches.size());
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < sketches.size(); ++i) {
    if (sketches[i].values.empty()) continue;
    units[i] = make_unit_sketch(sketches[i], sketches[i]);
    if (units[i].empty()) continue;
    const auto alike = std::ranges::find_if(kept, [&](std::size_t other) {
      if (sketches[i].columns == sketches[other].columns)
        return point_alike(units[other], units[i]);
      return point_alike(make_unit_sketch(sketches[other], sketches[i]),
                         make_unit_sketch(sketches[i], sketches[other]));
    });
    if (alike == kept.end()) {
      kept.push_back(i);
    } else {
      found[i] = *alike;
    }
  }
  return found;
}

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  std::vector<double> first, second;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    first.push_back(a[i]);
    second.push_back(b[i]);
  }
  if (first.size() < kLeastJumpValues) return std::nullopt;
  const std::vector<double> x = ranks_of(first), y = ranks_of(second);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double products = 0, x_squares = 0, y_squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    products += (x[i] - mean) * (y[i] - mean);
    x_squares += (x[i] - mean) * (x[i] - mean);
    y_squares += (y[i] - mean) * (y[i] - mean);
  }
  if (!(x_squares > 0) || !(y_squares > 0)) return std::nullopt;
  return products / std::sqrt(x_squares * y_squares);
}

}  // namespace corral::analyze
