// Lines: series reduced to one value per pixel column from full data: means, smoothed values,
// integrals, the ratio of two series, the aggregate of a group of runs, a group against another.
//
// Beside query/chart/chart.h, whose columns draw the points themselves. Up to query::kSeriesAtOnce
// series are read in one snapshot; a larger group in several, each series in one. Sources: the
// store. Memory: columns times series of one line. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/group.h"
#include "core/ids.h"
#include "core/result.h"
#include "query/chart/chart.h"
#include "query/series/integral.h"
#include "query/series/smooth.h"
#include "store/reader.h"

namespace corral::analyze {

inline constexpr std::size_t kMaxLines = 64;
inline constexpr std::size_t kMaxLineSeries = 1024;  // in all lines together

enum class LineKind : std::uint8_t {
  kMean = 0,
  kSmooth = 1,
  kIntegral = 2,
  kRatio = 3,
  kGroup = 4,
  kCompare = 5
};

struct GroupOptions {
  // True if the series' runs (or workloads) repeat one another; default: analyze/repetition.h
  // tells.
  std::optional<bool> repetitions = {};
  double confidence = 0.95;
  std::uint32_t max_hole = 0;  // columns
};

struct LineQuestion {
  LineKind kind = LineKind::kMean;
  // kRatio: two; kGroup: one or more; kCompare: two or more, where the others are compared with the
  // last `baseline` of them; else one.
  std::vector<SeriesId> series;
  // For a relative axis, one for each of `series`, UTC in ns; else empty.
  std::vector<std::int64_t> origins = {};
  query::ChartMode mode = query::ChartMode::kAuto;
  query::SmoothOptions smooth =
      {};  // kSmooth; unit and width in units of the axis; max_points is ours
  std::optional<query::IntegralRule> rule =
      {};                                 // kIntegral; left out: backward for rates, else trapezoid
  Nanos max_gap = std::chrono::hours(1);  // kIntegral
  GroupOptions group = {};                // kGroup; of kCompare max_hole
  std::size_t baseline = 0;               // kCompare: at least one, fewer than the series
  bool difference = true;                 // kCompare: else the ratio
};

struct LineRequest {
  std::vector<LineQuestion> lines;
  query::ChartAxis axis = query::ChartAxis::kTime;
  std::optional<std::int64_t> from = {}, to = {};  // as of a chart
  std::uint32_t width = 0;
  bool exact = true;
};

struct Line {
  LineKind kind = LineKind::kMean;
  bool exact = true;  // every point was counted in its own column
  // Bit i: the line's i-th series was taken as a rate (of a group: any of it).
  std::uint8_t rate = 0;
  IntervalReason reason = IntervalReason::kGiven;  // kGroup
  std::uint64_t points = 0;  // finite ones in the range; kSmooth, kIntegral: not counted
  query::Lost lost;
  bool in_order = true;                 // kSmooth
  std::uint32_t units = 0;              // kGroup; kCompare: without the baseline's
  std::uint32_t counted_once = 0;       // kGroup, kCompare
  std::uint32_t zero_denominators = 0;  // kRatio, kCompare: columns
  double window = 0;  // kSmooth: of centred windows, as used, in units of the axis
  // One value per column in each, NaN where there is none. In order:
  // kMean: mean, min, max, points. kSmooth: value. kIntegral: integral, seconds covered, least,
  // most. kRatio: value. kGroup: mean, low, high, deviation, interval, least, greatest, n, filled,
  // sum (empty columns when sums make no sense), lower quartile, median, upper quartile. kCompare:
  // value, mean, the baseline's mean, n, the baseline's n.
  std::vector<std::vector<double>> arrays;
};

// The ratio of two series that were resampled to one grid: each column has the mean of one divided
// by the mean of the other, NaN where one of them has no points. For two rates this is the ratio of
// the two counts (bytes per operation). The unit is that of the first per that of the second.
struct Ratio {
  std::vector<double> values;           // one per column
  std::uint32_t columns = 0;            // with a value
  std::uint32_t only_one = 0;           // columns where one of the two has points
  std::uint32_t zero_denominators = 0;  // columns left empty because the divisor is 0 there
  bool exact = false;                   // both were
};
// kInvalidArgument: different numbers of columns.
Result<Ratio> make_ratio(const query::ResampledSeries& numerator,
                         const query::ResampledSeries& denominator);

struct Lines {
  query::ChartAxis axis = query::ChartAxis::kTime;
  std::int64_t from = 0, to = 0;
  std::uint32_t width = 0;
  std::vector<Line> lines;  // as asked for
};

// kInvalidArgument, kNotFound for an unknown series.
Result<Lines> make_lines(const store::Reader& store, const LineRequest& request);

// docs/api.md, "Lines".
std::string encode_lines(const Lines& lines);

}  // namespace corral::analyze
