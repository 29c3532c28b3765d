#include "query/chart/chart.h"

#include <fmt/core.h>

#include <map>

#include "codec/wire.h"
#include "query/chart/m4/reduce.h"
#include "query/series/extent.h"
#include "query/series/grid.h"

namespace corral::query {
namespace {

Result<> check(const ChartRequest& request) {
  TRY(check_width(request.width));
  if (request.series.empty() || request.series.size() > kMaxChartSeries) {
    return fail(Code::kInvalidArgument,
                fmt::format("series must name between 1 and {} series, got {}", kMaxChartSeries,
                            request.series.size()));
  }
  TRY(check_ends(request.from, request.to));
  if (!request.since.empty() &&
      (request.axis == ChartAxis::kStep || request.since.size() != request.series.size())) {
    return fail(Code::kInvalidArgument,
                fmt::format("since must be one for each of {} series of an axis of time, got {}",
                            request.series.size(), request.since.size()));
  }
  return check_origins(request.axis, request.origins.size(), request.series.size());
}

std::int64_t origin_at(const ChartRequest& request, std::size_t i) {
  return request.origins.empty() ? 0 : request.origins[i];
}

// The ends that the request gives, else where the data of its series lies.
Result<Range> choose_range(store::PointView& view, const ChartRequest& request) {
  if (request.from && request.to) return Range{.from = *request.from, .to = *request.to};
  const GridAxis axis = request.axis == ChartAxis::kStep ? GridAxis::kStep : GridAxis::kTime;
  DataRange data;
  for (std::size_t i = 0; i < request.series.size(); ++i) {
    if (const auto extent = TRY(find_extent(view, request.series[i], axis)))
      data.add(*extent, origin_at(request, i));
  }
  return range_between(request.from, request.to, data.range());
}

Result<ChartSeries> one_series(store::PointView& view, const ChartRequest& request, Range range,
                               std::size_t i, metric::Kind kind) {
  m4::Request one{.series = request.series[i],
                  .axis = request.axis,
                  .rate = as_rate(request.mode, kind),
                  .exact = request.exact,
                  .width = request.width,
                  .origin = origin_at(request, i),
                  .limits = {}};
  if (__builtin_add_overflow(range.from, one.origin, &one.from) ||
      __builtin_add_overflow(range.to, one.origin, &one.to)) {
    return fail(Code::kInvalidArgument, fmt::format("the range from {} to {} relative to {} is out "
                                                    "of the bounds of time",
                                                    range.from, range.to, one.origin));
  }
  return m4::reduce(view, one);
}

// On an axis of time, where all columns are one segment.
void leave_out_before(std::int64_t column, ChartSeries& series) {
  const auto before = [column](const auto& one) { return one.index < column; };
  std::erase_if(series.columns, before);
  std::erase_if(series.not_finite, before);
  if (series.columns.empty()) series.segments.clear();
}

}  // namespace

Result<> check_width(std::uint32_t width) {
  if (width >= 1 && width <= kMaxChartWidth) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("width must be between 1 and {}, got {}", kMaxChartWidth, width));
}

Result<> check_ends(std::optional<std::int64_t> from, std::optional<std::int64_t> to) {
  if (!from || !to || *from < *to) return {};
  return fail(Code::kInvalidArgument, fmt::format("from ({}) must be before to ({})", *from, *to));
}

Result<> check_origins(ChartAxis axis, std::size_t origins, std::size_t series) {
  const std::size_t expected = axis == ChartAxis::kRelative ? series : 0;
  if (origins == expected) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("origins must be {} in number, got {}", expected, origins));
}

Result<Chart> make_chart(const store::Reader& store, const ChartRequest& request) {
  TRY(check(request));
  const SeriesRecords records = TRY(read_series(store, request.series));
  Chart chart{.axis = request.axis, .width = request.width, .series = {}};
  const auto read = [&](store::PointView& view) -> Result<> {
    const Range range = TRY(choose_range(view, request));
    chart.from = range.from;
    chart.to = range.to;
    std::map<std::pair<SeriesId, std::int64_t>, std::size_t> done;  // by series and origin
    for (std::size_t i = 0; i < request.series.size(); ++i) {
      const SeriesId id = request.series[i];
      const auto [entry, first] =
          done.try_emplace({id, origin_at(request, i)}, chart.series.size());
      chart.series.push_back(first ? TRY(one_series(view, request, range, i, records.at(id).kind))
                                   : chart.series[entry->second]);
    }
    for (std::size_t i = 0; i < request.since.size(); ++i)
      leave_out_before(request.since[i], chart.series[i]);
    return {};
  };
  TRY(store.view(distinct(request.series), read));
  return chart;
}

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
