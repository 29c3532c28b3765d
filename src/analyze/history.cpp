#include "analyze/history.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "query/series/point_stream.h"

namespace corral::query {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

// The first moment of a millisecond, or of all time.
std::int64_t to_ns(std::int64_t ms) {
  constexpr auto kLimits = std::numeric_limits<std::int64_t>();
  if (ms < kLimits.min() / kNsPerMs) return kLimits.min();
  return std::min(ms, kLimits.max() / kNsPerMs) * kNsPerMs;
}

bool same(const HistoryPoint& a, const HistoryPoint& b) {
  return !history_less(a, b) && !history_less(b, a);
}

// Takes points by time and puts those of one millisecond in order once all of them have come.
class Pager {
 public:
  Pager(const HistoryPlace& from, std::size_t most) : from_(from), most_(most) {
    points_.reserve(std::min(most, kHistoryPagePoints) + 1);
  }

  // False: the page is full.
  bool take(const PointSpan& span) {
    for (std::size_t i = 0; i < span.size(); ++i) {
      const std::int64_t time = history_ms(span.times[i]);
      if (points_.size() > moment_ && points_.back().time_ms != time) {
        end_moment();
        if (points_.size() > most_) return false;
      }
      points_.push_back({.time_ms = time,
                         .step = span.steps.empty() ? 0 : span.steps[i],
                         .value = span.values[i]});
    }
    return true;
  }

  HistoryPage finish() && {
    end_moment();
    HistoryPage page;
    if (points_.size() > most_) {
      page.next = place_of(most_);
      points_.resize(most_);
    }
    page.points = std::move(points_);
    return page;
  }

 private:
  void end_moment() {
    const auto begin = points_.begin() + static_cast<std::ptrdiff_t>(moment_);
    if (points_.end() - begin > 1) {
      std::sort(begin, points_.end(), history_less);
      points_.erase(std::unique(begin, points_.end(), same), points_.end());
    }
    const auto count = points_.size() - moment_;
    if (count > 0 && begin->time_ms == from_.time_ms)
      points_.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(from_.skip, count)));
    moment_ = points_.size();
  }

  [[nodiscard]] HistoryPlace place_of(std::size_t index) const {
    HistoryPlace place{.time_ms = points_[index].time_ms, .skip = 0};
    while (place.skip < index && points_[index - place.skip - 1].time_ms == place.time_ms)
      ++place.skip;
    if (place.time_ms == from_.time_ms) place.skip += from_.skip;
    return place;
  }

  const HistoryPlace from_;
  const std::size_t most_;
  std::vector<HistoryPoint> points_;
  std::size_t moment_ = 0;  // where the points of the time begin that is not complete yet
};

}  // namespace

// NaN stands where 0 does, as MLflow's server stores it; beside 0, behind it.
bool history_less(const HistoryPoint& a, const HistoryPoint& b) {
  if (a.time_ms != b.time_ms) return a.time_ms < b.time_ms;
  if (a.step != b.step) return a.step < b.step;
  const bool nan = std::isnan(a.value), other_nan = std::isnan(b.value);
  const double value = nan ? 0 : a.value, other = other_nan ? 0 : b.value;
  return value != other ? value < other : nan < other_nan;
}

Result<HistoryPage> history_page(store::PointView& view, SeriesId series, const HistoryPlace& from,
                                 std::size_t most) {
  Cursor cursor(view, series, store::Channel::kValue);
  auto stream =
      TRY(PointStream::open(cursor, to_ns(from.time_ms), std::numeric_limits<std::int64_t>::max(),
                            {.times = true, .steps = true}));
  Pager pager(from, most);
  for (;;) {
    const PointSpan span = TRY(stream.next());
    if (span.size() == 0 || !pager.take(span)) break;
  }
  return std::move(pager).finish();
}

Result<HistoryPage> history_page(store::Store& store, SeriesId series, const HistoryPlace& from,
                                 std::size_t most) {
  HistoryPage page;
  const auto read = [&](store::PointView& view) -> Result<> {
    page = TRY(history_page(view, series, from, most));
    return {};
  };
  // A client that has logged a point finds it in the history.
  TRY(store.fresh_view(std::span(&series, 1), read));
  return page;
}

Result<std::vector<HistoryPoint>> known_points(store::Store& store, SeriesId series,
                                               std::span<const HistoryPoint> points) {
  constexpr std::size_t kPage = 1000;
  std::vector<HistoryPoint> known;
  HistoryPlace from;
  for (auto at = points.begin(); at != points.end();) {
    if (at->time_ms > from.time_ms) from = {.time_ms = at->time_ms, .skip = 0};
    const HistoryPage page = TRY(history_page(store, series, from, kPage));
    const auto end = page.next
                         ? std::upper_bound(at, points.end(), page.points.back(), history_less)
                         : points.end();
    std::set_intersection(at, end, page.points.begin(), page.points.end(),
                          std::back_inserter(known), history_less);
    if (!page.next) break;
    at = end;
    from = *page.next;
  }
  return known;
}

}  // namespace corral::query
