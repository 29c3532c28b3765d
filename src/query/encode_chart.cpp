#include "codec/wire.h"
#include "query/chart.h"
#include "query/columns.h"

namespace corral::query {
namespace {

constexpr std::uint16_t kVersion = 1;

void put_series(codec::WireWriter& out, const ChartSeries& series, const Grid& grid) {
  out.put(series.id.value);
  out.put(series.points);
  out.put(series.nan);
  out.put(static_cast<std::uint32_t>(series.columns.size()));
  out.put(std::uint8_t{1});  // every point was read
  out.put(static_cast<std::uint8_t>(series.rate));
  out.put(std::uint16_t{0});
  constexpr ChartPoint ChartColumn::*kPoints[] = {&ChartColumn::first, &ChartColumn::min,
                                                  &ChartColumn::max, &ChartColumn::last};
  for (const auto point : kPoints) {
    for (const ChartColumn& column : series.columns) out.put((column.*point).value);
  }
  for (const auto point : kPoints) {
    for (const ChartColumn& column : series.columns) out.put(grid.x((column.*point).time));
  }
  for (const ChartColumn& column : series.columns) out.put(column.points);
  while (out.size() % 8 != 0) out.put(std::uint8_t{0});
}

}  // namespace

std::string encode_chart(const Chart& chart) {
  codec::WireWriter out;
  out.append("CRCH", 4);
  out.put(kVersion);
  out.put(static_cast<std::uint16_t>(chart.series.size()));
  out.put(chart.width);
  out.put(std::uint32_t{0});
  out.put(ns_of(chart.from));
  out.put(ns_of(chart.to));
  const Grid grid(ns_of(chart.from), ns_of(chart.to), chart.width);
  for (const ChartSeries& series : chart.series) put_series(out, series, grid);
  const auto bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace corral::query
