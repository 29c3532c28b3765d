// Classes of series: what the shape of a series is, so that lists show those first that say
// something, and fold those that do not.
//
// The first class that fits: constant, duplicate of another series, trend, steps, periodic, bursts,
// noise. A series is columns of equal width, each the mean of its points, NaN where it has none.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyze/explain/jumps.h"

namespace corral::analyze {

enum class SeriesClass : std::uint8_t {
  kFew,        // fewer than kLeastJumpValues columns have points
  kConstant,   // 99 % of the columns lie within one quantum
  kDuplicate,  // |r| >= 0.999 with another series
  kTrend,      // a line explains 80 % or more, or it explains 20 % and the mean never jumps
  kSteps,      // the mean jumps
  kPeriodic,   // the autocorrelation has a peak above 0.3
  kBursts,     // less than 5 % of the time it is beyond 8 MAD
  kNoise,
};
std::string_view series_class_name(SeriesClass type);

struct SeriesShape {
  SeriesClass type = SeriesClass::kFew;  // never kDuplicate
  Jumps jumps;                           // their places are columns
  StraightLine line;                     // by column with points
  double change = 0;                     // the line's, from the first to the last of them
  double period = 0;                     // columns; 0: none
};
// `quantum`: the least difference between points; 0: not known.
SeriesShape find_shape(std::span<const double> columns, double quantum);

// The least difference between two values that are not equal; 0: there is none.
double least_difference(std::vector<double> values);

// A series for comparisons with others: the first column with points of each of kSketchColumns
// equal parts.
inline constexpr std::size_t kSketchColumns = 128;
inline constexpr std::size_t kLeastAlike = 64;  // columns that both have
struct Sketch {
  std::vector<double> values;          // by part; NaN: it has none. Empty: alike to none
  std::vector<std::uint32_t> columns;  // the column of each
};
Sketch make_sketch(std::span<const double> columns);

// For each the first one before it that it is a duplicate of and that is none itself. Time:
// O(n^2), but most pairs differ within a few columns.
std::vector<std::optional<std::size_t>> find_duplicates(std::span<const Sketch> sketches);

// Spearman's rank correlation over the columns that both have; nullopt: there are fewer than
// kLeastJumpValues, or one of them is constant there.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace corral::analyze
