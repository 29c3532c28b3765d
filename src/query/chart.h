// Charts: many series reduced to M4 columns (first, min, max, last of each pixel column), and their
// binary form.
//
// A line through the four points of each column lights the same pixels as a line through all points
// (Jugel et al., VLDB 2014). Every batch of the range is decoded once for all series of the
// request; memory grows with the columns that hold points, not with the points. The answer does not
// depend on the order in which points arrived, except that of points at equal times the one that
// came first counts as earlier. Pure but for the Store it reads; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/store.h"

namespace corral::query {

inline constexpr std::uint32_t kMaxChartWidth = 8192;
inline constexpr std::size_t kMaxChartSeries = 256;

enum class ChartMode : std::uint8_t {
  kAuto,
  kValue,
  kRate
};  // auto: rate for counters, value for gauges

struct ChartRequest {
  std::vector<SeriesId> series;
  std::optional<UtcTime> from, to;  // left out: where the data begins and ends
  std::uint32_t width = 0;          // columns: device pixels of the plot
  ChartMode mode = ChartMode::kAuto;
};

struct ChartPoint {
  std::int64_t time = 0;  // UTC, ns
  double value = 0;
  bool operator==(const ChartPoint&) const = default;
};
struct ChartColumn {
  std::uint32_t index = 0;
  std::uint32_t points = 0;  // finite ones
  ChartPoint first, min, max, last;
  bool operator==(const ChartColumn&) const = default;
};
struct ChartSeries {
  SeriesId id;
  bool rate = false;
  // In the range: samples, or for a rate the differences and the samples that are not finite.
  std::uint64_t points = 0;
  std::uint64_t nan = 0;             // of them NaN or infinite
  std::vector<ChartColumn> columns;  // ascending, only those with finite points
};
struct Chart {
  UtcTime from, to;
  std::uint32_t width = 0;
  std::vector<ChartSeries> series;  // as asked for
};

// A rate is the difference of consecutive finite samples of one session, placed at the later one; a
// counter that went down was reset, and no difference is drawn across that. For the sample before
// `from` the store is read back by 10 s or four mean intervals of the series; what lies further
// back leaves a gap at the left edge. kInvalidArgument, kNotFound for an unknown series.
Result<Chart> make_chart(store::Store& store, const ChartRequest& request);

// docs/api.md, "Charts".
std::string encode_chart(const Chart& chart);

}  // namespace corral::query
