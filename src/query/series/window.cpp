#include "query/series/window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "query/series/cell_walk.h"
#include "query/series/extent.h"
#include "query/series/resample.h"

namespace corral::query {
namespace {

struct Extreme {
  double value = 0;
  std::int64_t order = -1;
};

// Numbers of the points with the least and greatest value.
class Extremes {
 public:
  static bool takes(std::size_t, const codec::Bucket&, int, bool whole) { return whole; }
  void bucket(std::size_t, const codec::Bucket& b, std::int64_t order) {
    if (b.count == b.not_finite()) return;
    offer(b.min, order + b.min_at);
    offer(b.max, order + b.max_at);
  }
  void points(std::size_t, const PointSpan& span) {
    for (std::size_t i = 0; i < span.size(); ++i)
      if (std::isfinite(span.values[i]))
        offer(span.values[i], span.order + static_cast<std::int64_t>(i));
  }

  Extreme min, max;

 private:
  void offer(double value, std::int64_t order) {
    if (min.order < 0 || value < min.value) min = {value, order};
    if (max.order < 0 || value > max.value) max = {value, order};
  }
};

// Looks for the first or the last finite point of a range, by x, then order of arrival. Opens only
// buckets that may hold it.
class EndSearch {
 public:
  EndSearch(Cursor& cursor, GridAxis axis, const AxisCells& range, bool last)
      : cursor_(cursor), range_(range), steps_(axis == GridAxis::kStep), last_(last) {}

  Result<std::int64_t> run() {
    if (last_) TRY(search_chunks());
    TRY(cursor_.descend(*this, {.backward = last_}));
    if (!last_) TRY(search_chunks());
    return order_;
  }
  [[nodiscard]] double value() const { return value_; }

  [[nodiscard]] Verdict judge(const codec::Bucket& bucket, Node node) const {
    return may_hold(bucket, node.first) ? Verdict::kDescend : Verdict::kDone;
  }
  Result<> points(Node node, const codec::Bucket*) {
    TRY(cursor_.read_all(node, parts(), steps_ ? GridAxis::kStep : GridAxis::kTime,
                         [&](const PointSpan& span) { search_span(span); }));
    return {};
  }

 private:
  [[nodiscard]] PointParts parts() const { return {.times = true, .steps = steps_}; }

  [[nodiscard]] bool may_hold(const codec::Bucket& b, std::int64_t order) const {
    const std::int64_t x0 = std::max(steps_ ? b.s0 : b.t0, range_.begin());
    const std::int64_t x1 = std::min(steps_ ? b.s1 : b.t1, range_.end() - 1);
    if (x0 > x1 || b.count == b.not_finite()) return false;
    if (order_ < 0) return true;
    return last_ ? std::pair(x1, order + b.count) > std::pair(x_, order_)
                 : std::pair(x0, order) < std::pair(x_, order_);
  }

  Result<> search_chunks() {
    for (std::size_t i = 0; i < cursor_.chunks(); ++i)
      search_span(TRY(cursor_.chunk(last_ ? cursor_.chunks() - 1 - i : i, parts())));
    return {};
  }

  void search_span(const PointSpan& span) {
    const auto xs = steps_ ? span.steps : span.times;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (!std::isfinite(span.values[i]) || !range_.contains(xs[i])) continue;
      const std::pair place(xs[i], span.order + static_cast<std::int64_t>(i));
      const std::pair best(x_, order_);
      if (order_ >= 0 && (last_ ? place < best : place > best)) continue;
      std::tie(x_, order_) = place;
      value_ = span.values[i];
    }
  }

  Cursor& cursor_;
  const AxisCells& range_;
  bool steps_, last_;
  std::int64_t x_ = 0, order_ = -1;
  double value_ = 0;
};

Result<std::optional<PlacedValue>> placed(Cursor& cursor, std::int64_t order, double value) {
  if (order < 0) return std::nullopt;
  const auto at = cursor.at(order);
  if (at) return PlacedValue{.value = value, .time = at->time, .step = at->step};
  if (at.error().code != Code::kCorruption) return tl::unexpected<Error>(at.error());
  return PlacedValue{.value = value, .time = std::nullopt, .step = std::nullopt};
}

// Squares of the distances to the mean.
class Squares {
 public:
  explicit Squares(double mean) : mean_(mean) {}
  static bool takes(std::size_t, const codec::Bucket&, int, bool) { return false; }
  static void bucket(std::size_t, const codec::Bucket&, std::int64_t) {}
  void points(std::size_t, const PointSpan& span) {
    for (const double v : span.values) {
      if (!std::isfinite(v)) continue;
      sum_ += (v - mean_) * (v - mean_);
      rest_ += v - mean_;
      ++count_;
    }
  }
  // `rest_` corrects the mean's rounding error.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::optional<double> deviation() const {
    if (count_ < 2) return std::nullopt;
    const auto n = static_cast<double>(count_);
    return std::sqrt(std::max(0.0, sum_ - rest_ * rest_ / n) / (n - 1));
  }

 private:
  double mean_, sum_ = 0, rest_ = 0;
  std::uint64_t count_ = 0;
};

class OneWindow {
 public:
  OneWindow(store::PointView& view, const SeriesInput& input, const WindowRequest& request)
      : view_(view),
        input_(input),
        request_(request),
        grid_{.axis = request.axis, .from = request.from, .to = request.to, .columns = 1},
        window_(AxisCells::uniform(grid_, input.origin)),
        cursor_(view, input.series, input.channel) {}

  Result<WindowStatistics> run() {
    out_.id = input_.series;
    TRY(totals());
    if (out_.count > 0) TRY(extremes());
    const std::uint64_t points =
        TRY(count_points(cursor_, request_.axis, window_.begin(), window_.end()));
    if (request_.deviation && out_.mean && points <= request_.max_points) {
      Squares squares(*out_.mean);
      TRY(walk_cells(cursor_, window_, {.axis = request_.axis}, squares));
      if (squares.count() == out_.count) out_.deviation = squares.deviation();
    }
    TRY(integral());
    TRY(quantile());
    const Lost lost = cursor_.lost(request_.axis, window_);
    out_.lost.points = std::max(out_.lost.points, lost.points);
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool steps() const { return request_.axis == GridAxis::kStep; }

  Result<> totals() {
    const auto one = TRY(resample(
        view_, {.series = {input_}, .grid = grid_, .exactness = Exactness::kExact, .ends = false}));
    const Cell& cell = one.front().cells.front();
    out_.count = cell.count;
    if (input_.channel == store::Channel::kValue) out_.not_finite = cell.not_finite;
    out_.sum = cell.sum;
    if (cell.count > 0) out_.mean = cell.mean();
    out_.lost = one.front().lost;
    return {};
  }

  Result<> extremes() {
    Extremes found;
    TRY(walk_cells(cursor_, window_, {.axis = request_.axis}, found));
    out_.min = TRY(placed(cursor_, found.min.order, found.min.value));
    out_.max = TRY(placed(cursor_, found.max.order, found.max.value));
    for (const bool last : {false, true}) {
      EndSearch search(cursor_, request_.axis, window_, last);
      const std::int64_t order = TRY(search.run());
      (last ? out_.last : out_.first) = TRY(placed(cursor_, order, search.value()));
    }
    return {};
  }

  Result<> integral() {
    if (!request_.integral || steps()) return {};
    IntegralOptions options = request_.integral_options;
    options.max_points = request_.max_points;
    const auto one = TRY(integrate(view_, {.series = {input_}, .grid = grid_, .options = options}));
    out_.integral = one.front().cells.front();
    out_.integral_exact = one.front().exact;
    return {};
  }

  Result<> quantile() {
    if (request_.probabilities.empty()) return {};
    auto one = TRY(quantiles(view_, {.series = {input_},
                                     .axis = request_.axis,
                                     .from = request_.from,
                                     .to = request_.to,
                                     .probabilities = request_.probabilities,
                                     .max_points = request_.max_points}));
    out_.quantiles = std::move(one.front());
    return {};
  }

  store::PointView& view_;
  const SeriesInput& input_;
  const WindowRequest& request_;
  AxisGrid grid_;
  AxisCells window_;
  Cursor cursor_;
  WindowStatistics out_;
};

}  // namespace

Result<std::vector<WindowStatistics>> window_statistics(store::PointView& view,
                                                        const WindowRequest& request) {
  if (request.from >= request.to)
    return fail(Code::kInvalidArgument, "the window must begin before it ends");
  std::vector<WindowStatistics> all;
  all.reserve(request.series.size());
  for (const SeriesInput& input : request.series)
    all.push_back(TRY(OneWindow(view, input, request).run()));
  return all;
}

Result<std::optional<PlacedValue>> latest_value(store::PointView& view, const SeriesInput& input) {
  const AxisCells always(
      {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()});
  Cursor cursor(view, input.series, input.channel);
  EndSearch search(cursor, GridAxis::kTime, always, true);
  const std::int64_t order = TRY(search.run());
  return TRY(placed(cursor, order, search.value()));
}

Result<std::vector<std::optional<PlacedValue>>> latest_values(const store::Reader& store,
                                                              std::span<const SeriesInput> series) {
  std::vector<std::optional<PlacedValue>> all;
  const auto read = [&](store::PointView& view, std::size_t i) -> Result<> {
    all.push_back(TRY(latest_value(view, series[i])));
    return {};
  };
  TRY(view_each(store, series, read));
  return all;
}

}  // namespace corral::query
