#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "query/chart/chart.h"
#include "store/faults/zoom.h"
#include "store/test_reader.h"

namespace corral::store::faults {
namespace {

__extension__ using Wide = __int128;

// The values that one column of a chart must show, from the points in it.
std::string column_problem(const query::ChartColumn& column, std::vector<ScriptPoint> points) {
  const auto value = [](const ScriptPoint& point) { return std::bit_cast<double>(point.bits); };
  if (column.points != points.size()) return "wrong count";
  const auto is_there = [&](const query::ChartPoint& shown) {
    return std::ranges::any_of(points, [&](const ScriptPoint& point) {
      return point.time == shown.x && value(point) == shown.value;
    });
  };
  if (!is_there(column.first) || !is_there(column.last)) return "a point that was never logged";
  std::ranges::sort(points);
  if (column.first.x != points.front().time) return "wrong first";
  if (column.last.x != points.back().time) return "wrong last";
  const auto [low, high] = std::ranges::minmax(points, {}, value);
  if (column.min.value != value(low)) return "wrong minimum";
  if (column.max.value != value(high)) return "wrong maximum";
  return {};
}

// The points of each column by plain division.
std::string chart_problem(const query::Chart& chart, const query::ChartSeries& series,
                          const std::vector<ScriptPoint>& points) {
  std::map<std::uint32_t, std::vector<ScriptPoint>> columns;
  const std::int64_t from = chart.from;
  const std::int64_t to = chart.to;
  std::uint64_t all = 0;
  for (const ScriptPoint& point : points) {
    if (point.time < from || point.time >= to) continue;
    ++all;
    if (!std::isfinite(std::bit_cast<double>(point.bits))) continue;
    columns[static_cast<std::uint32_t>(Wide{point.time - from} * chart.width / (to - from))]
        .push_back(point);
  }
  if (series.points != all) return "wrong count of points";
  if (series.columns.size() != columns.size()) return "wrong count of columns";
  for (const query::ChartColumn& column : series.columns) {
    std::string problem = column_problem(column, columns[column.index]);
    if (!problem.empty()) return "column " + std::to_string(column.index) + ": " + problem;
  }
  return {};
}

}  // namespace

std::string zoom_problem(Store& store, const Series& series, const std::vector<ScriptPoint>& points,
                         Random& random) {
  query::ChartRequest request;
  request.series = {series.id};
  request.width = 1 + static_cast<std::uint32_t>(random() % 300);
  request.mode = query::ChartMode::kValue;
  const std::int64_t first = ns_of(series.first);
  const auto length = static_cast<std::uint64_t>(ns_of(series.last_time) - first + 1);
  if (random() % 4 != 0) {
    const std::int64_t from = first + static_cast<std::int64_t>(random() % length);
    request.from = from;
    request.to = from + 1 + static_cast<std::int64_t>(random() % length);
  }
  const auto chart = query::make_chart(reader_of(store), request);
  if (!chart) return chart.error().message;
  const query::ChartSeries& answer = chart->series.at(0);
  return answer.exact ? chart_problem(*chart, answer, points) : "the answer is not exact";
}

}  // namespace corral::store::faults
