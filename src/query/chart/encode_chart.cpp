#include "codec/wire.h"
#include "query/chart/chart.h"
#include "query/series/grid.h"

namespace corral::query {
namespace {

constexpr std::uint16_t kVersion = 2;
constexpr std::uint16_t kSegmentsFolded = 1, kUnknownGap = 2;

template <class T>
std::uint32_t size32(const std::vector<T>& all) {
  return static_cast<std::uint32_t>(all.size());
}

void put_header(codec::WireWriter& out, const ChartSeries& series) {
  out.put(series.id.value);
  out.put(series.points);
  out.put(series.nan);
  out.put(size32(series.columns));
  out.put(static_cast<std::uint8_t>(series.exact));
  out.put(static_cast<std::uint8_t>(series.rate));
  out.put(static_cast<std::uint16_t>((series.segments_folded ? kSegmentsFolded : 0) |
                                     (series.unknown_gap ? kUnknownGap : 0)));
  out.put(series.origin);
  out.put(series.cost.buckets);
  out.put(series.cost.points);
  out.put(series.cost.damaged_blocks);
  out.put(size32(series.segments));
  out.put(size32(series.not_finite));
  out.put(size32(series.gaps));
}

void put_series(codec::WireWriter& out, const ChartSeries& series, const Grid& grid) {
  put_header(out, series);
  constexpr ChartPoint ChartColumn::*kPoints[] = {&ChartColumn::first, &ChartColumn::min,
                                                  &ChartColumn::max, &ChartColumn::last};
  for (const auto point : kPoints) {
    for (const ChartColumn& column : series.columns) out.put((column.*point).value);
  }
  for (const ChartGap& gap : series.gaps) out.put(gap.from);
  for (const ChartGap& gap : series.gaps) out.put(gap.to);
  for (const auto point : kPoints) {
    for (const ChartColumn& column : series.columns) out.put(grid.pixels((column.*point).x));
  }
  for (const ChartColumn& column : series.columns) out.put(column.points);
  for (const std::uint32_t segment : series.segments) out.put(segment);
  for (const NotFinite& entry : series.not_finite) out.put(entry.index);
  for (const NotFinite& entry : series.not_finite) out.put(entry.points);
  while (out.size() % 8 != 0) out.put(std::uint8_t{0});
}

}  // namespace

std::string encode_chart(const Chart& chart) {
  codec::WireWriter out;
  out.append("CRCH", 4);
  out.put(kVersion);
  out.put(static_cast<std::uint16_t>(chart.series.size()));
  out.put(chart.width);
  out.put(static_cast<std::uint32_t>(chart.axis));
  out.put(chart.from);
  out.put(chart.to);
  const Grid grid(chart.from, chart.to, chart.width);
  for (const ChartSeries& series : chart.series) put_series(out, series, grid);
  const auto bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace corral::query
