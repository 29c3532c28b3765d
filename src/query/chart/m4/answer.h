// The answer of a chart for one series: M4 columns, gaps, and their cost.
//
// x is the axis value: UTC in ns, ns since the series' origin, or a step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"

namespace corral::query {

enum class ChartAxis : std::uint8_t { kTime = 0, kRelative = 1, kStep = 2 };

struct ChartPoint {
  std::int64_t x = 0;
  double value = 0;
  bool operator==(const ChartPoint&) const = default;
};

// first and last in the order of the axis: by time, points of equal time in order of arrival; on
// the step axis in order of arrival. x of min and max is that of the earliest such point, or, where
// they come from a bucket, an estimate within it.
struct ChartColumn {
  std::uint32_t index = 0;
  std::uint32_t points = 0;  // finite ones
  ChartPoint first, min, max, last;
  bool operator==(const ChartColumn&) const = default;
};

// Points of a column that are not finite.
struct NotFinite {
  std::uint32_t index = 0;
  std::uint32_t points = 0;
  bool operator==(const NotFinite&) const = default;
};

// A range in which points could not be read; both ends belong to it.
struct ChartGap {
  std::int64_t from = 0, to = 0;
  bool operator==(const ChartGap&) const = default;
};

struct ChartCost {
  std::uint64_t buckets = 0;       // taken whole
  std::uint64_t points = 0;        // read one by one
  std::uint32_t pyramid_rows = 0;  // read
  std::uint32_t damaged_blocks = 0;
  std::uint32_t damaged_rows = 0;  // rows of the pyramid; read from the blocks instead
};

struct ChartSeries {
  SeriesId id;
  bool rate = false;
  // The columns are those of all points. Else a bucket stands in the column of its first point, and
  // may be as wide as a part of a column.
  bool exact = true;
  std::int64_t origin = 0;  // ns of UTC at which a relative axis has its zero
  // In the range. For a rate: the differences, and nan is 0.
  std::uint64_t points = 0;
  std::uint64_t nan = 0;  // NaN or infinite ones among them
  // Ascending by index within a segment; only those with finite points.
  std::vector<ChartColumn> columns;
  // The index in `columns` at which each segment begins; a line is not drawn from one to the next.
  // One (0) on axes of time; on the step axis one more wherever steps went back.
  std::vector<std::uint32_t> segments;
  bool segments_folded = false;       // there were too many; the last one holds the rest
  std::vector<NotFinite> not_finite;  // ascending by index within a segment
  std::vector<ChartGap> gaps;         // ascending, apart from each other
  bool unknown_gap = false;           // points are missing nobody knows where
  ChartCost cost;
};

}  // namespace corral::query
