#include "query/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "query/columns.h"
#include "query/points.h"

namespace corral::query {
namespace {

constexpr std::int64_t kLeastLookBack = 10'000'000'000;

Result<> check(const ChartRequest& request) {
  if (request.width < 1 || request.width > kMaxChartWidth) {
    return fail(Code::kInvalidArgument, fmt::format("width must be between 1 and {}, got {}",
                                                    kMaxChartWidth, request.width));
  }
  if (request.series.empty() || request.series.size() > kMaxChartSeries) {
    return fail(Code::kInvalidArgument,
                fmt::format("series must name between 1 and {} series, got {}", kMaxChartSeries,
                            request.series.size()));
  }
  if (request.from && request.to && *request.from >= *request.to) {
    return fail(Code::kInvalidArgument, fmt::format("from_ns ({}) must be before to_ns ({})",
                                                    ns_of(*request.from), ns_of(*request.to)));
  }
  return {};
}

struct Range {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// What was asked for, else where the data of these series lies; never empty.
Range range_of(const ChartRequest& request, const std::vector<store::Series>& series) {
  std::optional<Range> data;
  for (const store::Series& s : series) {
    if (s.points == 0) continue;
    const Range one{.from = ns_of(s.first), .to = ns_of(s.last_time) + 1};
    data = data ? Range{.from = std::min(data->from, one.from), .to = std::max(data->to, one.to)}
                : one;
  }
  Range range = data.value_or(Range{.from = 0, .to = 1});
  if (request.from) range.from = ns_of(*request.from);
  if (request.to) range.to = ns_of(*request.to);
  if (range.to > range.from) return range;
  // Only one end was given, and it lies beyond the data: one nanosecond there.
  constexpr auto kGreatest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t from =
      std::min(request.from ? range.from : std::max(range.to, -kGreatest) - 1, kGreatest - 1);
  return {.from = from, .to = from + 1};
}

// How far before the range the sample may lie that its first difference starts from.
std::int64_t look_back_of(const store::Series& series) {
  if (series.points < 2) return kLeastLookBack;
  return std::max(kLeastLookBack,
                  4 * ((ns_of(series.last_time) - ns_of(series.first)) / (series.points - 1)));
}

// Differences of one series: samples of each of its sessions in order of time.
class Rates {
 public:
  // The next sample; false when it lies before the one before it.
  bool add(const Point& point, Columns& columns) {
    if (!std::isfinite(point.value)) {
      columns.add(point.time, point.value);
      return true;
    }
    const auto [entry, first] =
        previous_.try_emplace(point.session, ChartPoint{point.time, point.value});
    if (first) return true;
    ChartPoint& before = entry->second;
    if (point.time < before.time) return false;
    const double seconds = static_cast<double>(point.time - before.time) * 1e-9;
    if (point.time > before.time && point.value >= before.value)
      columns.add(point.time, (point.value - before.value) / seconds);
    before = {point.time, point.value};
    return true;
  }

 private:
  std::unordered_map<SessionId, ChartPoint> previous_;
};

class Builder {
 public:
  Builder(store::Store& store, const ChartRequest& request,
          const std::vector<store::Series>& series, Range range)
      : store_(store), range_(range), grid_(range.from, range.to, request.width) {
    for (const store::Series& s : series) {
      const bool rate = request.mode == ChartMode::kRate ||
                        (request.mode == ChartMode::kAuto && s.kind == metric::Kind::kCounter);
      reductions_.try_emplace(
          s.id,
          Reduction{.rate = rate, .columns = Columns(grid_), .rates = {}, .disordered = false});
      (rate ? rates_ : values_).push_back(s.id);
      if (rate) look_back_ = std::max(look_back_, look_back_of(s));
    }
  }

  Result<> read() {
    TRY(walk(values_, range_.from, [&](const Point& point) {
      reductions_.at(point.series).columns.add(point.time, point.value);
    }));
    // A sample earlier than int64 allows is not there.
    std::int64_t from = 0;
    if (__builtin_sub_overflow(range_.from, look_back_, &from)) from = range_.from;
    TRY(walk(rates_, from, [&](const Point& point) { add_in_order(point); }));
    return read_disordered(from);
  }

  ChartSeries series(SeriesId id) {
    Reduction& reduction = reductions_.at(id);
    ChartSeries series;
    series.id = id;
    series.rate = reduction.rate;
    reduction.columns.finish(series);
    return series;
  }

 private:
  struct Reduction {
    bool rate = false;
    Columns columns;
    Rates rates;
    bool disordered = false;
  };

  template <class Take>
  Result<> walk(const std::vector<SeriesId>& ids, std::int64_t from, Take&& take) {
    if (ids.empty()) return {};
    return walk_points(store_, {.series = ids, .from = utc_time(from), .to = utc_time(range_.to)},
                       [&](const Point& point) {
                         take(point);
                         return true;
                       });
  }

  void add_in_order(const Point& point) {
    Reduction& reduction = reductions_.at(point.series);
    if (!reduction.disordered && !reduction.rates.add(point, reduction.columns))
      reduction.disordered = true;
  }

  // Samplers write in order; for the few series that did not, the samples are gathered and sorted.
  Result<> read_disordered(std::int64_t from) {
    for (auto& [id, reduction] : reductions_) {
      if (!reduction.disordered) continue;
      std::vector<Point> points;
      TRY(walk({id}, from, [&](const Point& point) { points.push_back(point); }));
      std::ranges::stable_sort(points, {}, &Point::time);
      reduction.columns = Columns(grid_);
      reduction.rates = {};
      for (const Point& point : points) reduction.rates.add(point, reduction.columns);
    }
    return {};
  }

  store::Store& store_;
  Range range_;
  Grid grid_;
  std::int64_t look_back_ = kLeastLookBack;
  std::vector<SeriesId> values_, rates_;
  std::map<SeriesId, Reduction> reductions_;
};

}  // namespace

Result<Chart> make_chart(store::Store& store, const ChartRequest& request) {
  TRY(check(request));
  const std::set<SeriesId> ids(request.series.begin(), request.series.end());
  const std::vector<store::Series> series = TRY(store.series(std::vector(ids.begin(), ids.end())));
  for (const SeriesId id : ids) {
    if (std::ranges::find(series, id, &store::Series::id) == series.end())
      return fail(Code::kNotFound, fmt::format("there is no series {}", id.value));
  }
  const Range range = range_of(request, series);
  Builder builder(store, request, series, range);
  TRY(builder.read());
  Chart chart{
      .from = utc_time(range.from), .to = utc_time(range.to), .width = request.width, .series = {}};
  std::map<SeriesId, std::size_t> done;
  for (const SeriesId id : request.series) {
    const auto [entry, first] = done.try_emplace(id, chart.series.size());
    chart.series.push_back(first ? builder.series(id) : chart.series[entry->second]);
  }
  return chart;
}

}  // namespace corral::query
