#include "query/chart/xy_pairs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "query/series/extent.h"
#include "query/series/point_stream.h"
#include "query/series/resample.h"

namespace corral::query {
namespace {

constexpr std::int64_t kSpacings = 10;

struct Sample {
  std::int64_t time = 0, step = 0;
  double value = 0;
};

class Pairer {
 public:
  Pairer(store::PointView& view, const PairRequest& request)
      : request_(request),
        x_(view, request.x.series, request.x.channel),
        y_(view, request.y.series, request.y.channel) {}

  [[nodiscard]] Result<bool> too_many() {
    std::uint64_t points = 0;
    for (Cursor* cursor : {&x_, &y_})
      points += TRY(count_points(*cursor, GridAxis::kTime, request_.from, request_.to));
    return points > request_.most;
  }

  Result<Pairs> run() {
    std::vector<Sample> x = TRY(load(x_, request_.x));
    const std::vector<Sample> y = TRY(load(y_, request_.y));
    if (request_.by == PairBy::kStep) {
      by_step(x, y);
    } else {
      by_time(x, y);
    }
    const AxisCells range({request_.from, request_.to});
    for (const Cursor* cursor : {&x_, &y_}) {
      out_.lost.add(cursor->lost(GridAxis::kTime, range));
    }
    return std::move(out_);
  }

 private:
  // In order of time. What has no rate is no point; by step neither is what has no step.
  [[nodiscard]] Result<std::vector<Sample>> load(Cursor& cursor, const SeriesInput& input) {
    const bool steps = request_.by == PairBy::kStep;
    const bool rate = input.channel == store::Channel::kRate;
    PointStream stream =
        TRY(PointStream::open(cursor, request_.from, request_.to, {.times = true, .steps = steps}));
    std::vector<Sample> all;
    for (;;) {
      const PointSpan span = TRY(stream.next());
      if (span.size() == 0) return all;
      if (steps && span.steps.empty()) continue;
      for (std::size_t i = 0; i < span.size(); ++i) {
        if (rate && !std::isfinite(span.values[i])) continue;
        all.push_back(
            {.time = span.times[i], .step = steps ? span.steps[i] : 0, .value = span.values[i]});
      }
    }
  }

  void by_step(std::vector<Sample>& x, const std::vector<Sample>& y) {
    std::ranges::stable_sort(x, {}, &Sample::step);
    std::size_t at = 0;  // of the least step that is not below y's
    std::optional<std::int64_t> before;
    for (const Sample& point : y) {
      if (before && point.step < *before) cut_ = true;
      before = point.step;
      const bool ahead = at < x.size() && x[at].step <= point.step && point.step - x[at].step < 64;
      if (!ahead) {
        at = static_cast<std::size_t>(std::ranges::lower_bound(x, point.step, {}, &Sample::step) -
                                      x.begin());
      }
      while (at < x.size() && x[at].step < point.step) ++at;
      if (at == x.size() || x[at].step != point.step) {
        ++out_.unpaired;
        continue;
      }
      std::size_t nearest = at;
      for (std::size_t i = at; i < x.size() && x[i].step == point.step; ++i) {
        if (gap(x[i], point) < gap(x[nearest], point)) nearest = i;
      }
      add(x[nearest], point);
    }
  }

  void by_time(const std::vector<Sample>& x, const std::vector<Sample>& y) {
    const std::uint64_t reach = reach_of(x);
    std::size_t next = 0;  // of the first later than y's
    for (const Sample& point : y) {
      while (next < x.size() && x[next].time <= point.time) ++next;
      if (next == 0 || gap(x[next - 1], point) > reach) {
        ++out_.unpaired;
        cut_ = true;
        continue;
      }
      add(x[next - 1], point);
    }
  }

  static std::uint64_t gap(const Sample& a, const Sample& b) {
    return a.time < b.time ? distance(a.time, b.time) : distance(b.time, a.time);
  }

  static std::uint64_t reach_of(const std::vector<Sample>& x) {
    if (x.size() < 2) return 0;
    std::vector<std::uint64_t> spacings;
    spacings.reserve(x.size() - 1);
    for (std::size_t i = 1; i < x.size(); ++i) spacings.push_back(gap(x[i - 1], x[i]));
    const auto middle = spacings.begin() + static_cast<std::ptrdiff_t>(spacings.size() / 2);
    std::ranges::nth_element(spacings, middle);
    return *middle > std::numeric_limits<std::uint64_t>::max() / kSpacings
               ? std::numeric_limits<std::uint64_t>::max()
               : *middle * kSpacings;
  }

  void add(const Sample& x, const Sample& y) {
    if (!std::isfinite(x.value) || !std::isfinite(y.value)) {
      ++out_.not_finite;
      cut_ = true;
      return;
    }
    out_.path.push_back({.x = x.value, .y = y.value, .time = y.time, .starts = cut_});
    cut_ = false;
  }

  const PairRequest& request_;
  Cursor x_, y_;
  Pairs out_;
  bool cut_ = true;
};

// The range that both have, cut to that of the request on an axis of time.
Result<std::optional<AxisGrid>> common_grid(store::PointView& view, const PairRequest& request) {
  const GridAxis axis = request.by == PairBy::kStep ? GridAxis::kStep : GridAxis::kTime;
  const auto x = TRY(find_extent(view, request.x.series, axis));
  const auto y = TRY(find_extent(view, request.y.series, axis));
  if (!x || !y) return std::nullopt;
  AxisGrid grid{.axis = axis,
                .from = std::max(x->first, y->first),
                .to = add_clipped(std::min(x->last, y->last), 1),
                .columns = kMaxGridColumns};
  if (axis == GridAxis::kTime) {
    grid.from = std::max(grid.from, request.from);
    grid.to = std::min(grid.to, request.to);
  }
  if (grid.from >= grid.to) return std::nullopt;
  return grid;
}

Result<Pairs> pair_means(store::PointView& view, const PairRequest& request) {
  Pairs out{.exact = false};
  const auto grid = TRY(common_grid(view, request));
  if (!grid) return out;
  const auto both = TRY(resample(view, {.series = {request.x, request.y},
                                        .grid = *grid,
                                        .exactness = Exactness::kAligned,
                                        .ends = false}));
  const AxisCells cells = AxisCells::uniform(*grid, 0);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& x = both[0].cells[i];
    const Cell& y = both[1].cells[i];
    if (x.count == 0 || y.count == 0) {
      out.unpaired += y.count;
      continue;
    }
    if (!std::isfinite(x.mean()) || !std::isfinite(y.mean())) continue;
    out.path.push_back({.x = x.mean(),
                        .y = y.mean(),
                        .time = request.by == PairBy::kTime ? cells.begin(i) : 0,
                        .starts = out.path.empty()});
  }
  for (const ResampledSeries& one : both) out.lost.add(one.lost);
  return out;
}

}  // namespace

Result<Pairs> pair_up(store::PointView& view, const PairRequest& request) {
  Pairer pairer(view, request);
  if (TRY(pairer.too_many())) return pair_means(view, request);
  return pairer.run();
}

}  // namespace corral::query
