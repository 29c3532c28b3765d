// Charts: many series reduced to M4 columns (first, min, max, last of each pixel column), and their
// binary form.
//
// A line through the four points of each column lights the same pixels as a line through all points
// (Jugel et al., VLDB 2014). All series of a request are read in one snapshot, one after the other;
// memory grows with the columns, not with the points (query/chart/m4/reduce.h). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "query/chart/m4/answer.h"
#include "query/series/inputs.h"
#include "store/reader.h"

namespace corral::query {

inline constexpr std::uint32_t kMaxChartWidth = 8192;
inline constexpr std::size_t kMaxChartSeries = 256;

enum class ChartMode : std::uint8_t {
  kAuto,
  kValue,
  kRate
};  // auto: rate for counters, value for gauges

[[nodiscard]] constexpr bool as_rate(ChartMode mode, metric::Kind kind) {
  return mode == ChartMode::kRate || (mode == ChartMode::kAuto && kind == metric::Kind::kCounter);
}

[[nodiscard]] constexpr store::Channel channel_for(ChartMode mode, metric::Kind kind) {
  return as_rate(mode, kind) ? store::Channel::kRate : store::Channel::kValue;
}
[[nodiscard]] inline SeriesInput input_from(const store::Series& series, ChartMode mode) {
  return {.series = series.id, .channel = channel_for(mode, series.kind)};
}

struct ChartRequest {
  std::vector<SeriesId> series;
  // Half open, on the axis: UTC in ns, ns since each series' origin, or steps. Left out: where the
  // data begins and ends.
  std::optional<std::int64_t> from = {}, to = {};
  std::uint32_t width = 0;  // columns: device pixels of the plot
  ChartMode mode = ChartMode::kAuto;
  ChartAxis axis = ChartAxis::kTime;
  // For a relative axis, one for each of `series`: UTC in ns (start of its run, workload or
  // experiment). Else empty.
  std::vector<std::int64_t> origins = {};
  // As if all points were looked at; else as good as is to be had at once.
  bool exact = true;
  // For a client that keeps an earlier answer on an axis of time, one for each of `series`: columns
  // before this one are counted in `points`, but left out. Else empty.
  std::vector<std::int64_t> since = {};
};

struct Chart {
  ChartAxis axis = ChartAxis::kTime;
  std::int64_t from = 0, to = 0;
  std::uint32_t width = 0;
  std::vector<ChartSeries> series;  // as asked for
};

// Rates: codec/block/rate.h. kInvalidArgument, kNotFound for an unknown series.
Result<Chart> make_chart(const store::Reader& store, const ChartRequest& request);
// The columns, the ends and the origins of a request over pixels. kInvalidArgument.
Result<> check_width(std::uint32_t width);
Result<> check_ends(std::optional<std::int64_t> from, std::optional<std::int64_t> to);
Result<> check_origins(ChartAxis axis, std::size_t origins, std::size_t series);

// docs/api.md, "Charts".
std::string encode_chart(const Chart& chart);

}  // namespace corral::query
