#include "query/series/integral.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include "query/series/cell_walk.h"
#include "query/series/extent.h"
#include "query/series/point_stream.h"

namespace corral::query {
namespace {

constexpr double kSecond = 1e-9;  // seconds per nanosecond

struct Knot {
  std::int64_t time = 0;
  double value = 0;
  bool known = false;
};

// Time that was integrated already: stretches that neither meet nor overlap.
class Covered {
 public:
  // Calls `fresh(from, to)` for each part of the stretch that is new.
  template <class Fresh>
  void add(std::int64_t from, std::int64_t to, Fresh fresh) {
    auto at = stretches_.upper_bound(from);
    if (at != stretches_.begin() && std::prev(at)->second >= from) {
      --at;
    } else {
      at = stretches_.emplace_hint(at, from, from);
    }
    while (at->second < to) {
      const auto next = std::next(at);
      const std::int64_t stop = next == stretches_.end() ? to : std::min(to, next->first);
      fresh(at->second, stop);
      at->second = stop;
      if (next == stretches_.end() || next->first > stop) continue;
      at->second = next->second;
      stretches_.erase(next);
    }
  }

 private:
  std::map<std::int64_t, std::int64_t> stretches_;  // by begin: the end
};

class Integrator {
 public:
  // `same_thing`: as of a PointView; time that sessions share counts once.
  Integrator(const AxisCells& cells, const IntegralOptions& options, bool same_thing)
      : cells_(cells),
        rule_(options.rule),
        gap_(options.max_gap.count()),
        same_thing_(same_thing),
        out_(cells.size()) {}

  // The stretch from one point to the next, cut at the borders.
  void line(const Knot& a, const Knot& b) {
    if (!a.known || a.time >= b.time || b.time <= cells_.begin() || a.time >= cells_.end()) return;
    if (difference(a.time, b.time) > static_cast<double>(gap_)) return;
    const std::int64_t from = std::max(a.time, cells_.begin());
    const std::int64_t to = std::min(b.time, cells_.end());
    const auto fresh = [&](std::int64_t begin, std::int64_t end) { stretch(a, b, begin, end); };
    same_thing_ ? covered_.add(from, to, fresh) : fresh(from, to);
  }

  // `least`: of its values.
  void bucket(std::size_t cell, const codec::Bucket& b, double least) {
    if (b.not_finite() == b.count) return;
    const double width = difference(b.t0, b.t1) * kSecond;
    IntegralCell& out = out_[cell];
    out.integral += b.sum / (b.count - b.not_finite()) * width;
    out.covered += width;
    out.least += least * width;
    out.most += b.max * width;
  }

  std::vector<IntegralCell> finish() {
    // Buckets give only their sums: if more time is covered than the cell has, it was measured more
    // than once.
    for (std::size_t i = 0; same_thing_ && i < out_.size(); ++i) {
      IntegralCell& cell = out_[i];
      const double width = difference(cells_.begin(i), cells_.end(i)) * kSecond;
      if (cell.covered <= width) continue;
      const double part = width / cell.covered;
      cell = {.integral = cell.integral * part,
              .covered = width,
              .least = cell.least * part,
              .most = cell.most * part};
    }
    return std::move(out_);
  }

 private:
  // The part of the line from `a` to `b` that lies in [at, end), which the grid covers.
  void stretch(const Knot& a, const Knot& b, std::int64_t at, std::int64_t end) {
    const double length = difference(a.time, b.time);
    while (at < end) {
      hint_ = cells_.find(at, hint_);
      const std::int64_t stop = std::min(end, cells_.end(hint_));
      const double width = difference(at, stop);
      double value = rule_ == IntegralRule::kForward ? a.value : b.value;
      if (rule_ == IntegralRule::kTrapezoid) {
        const double middle = (difference(a.time, at) + width / 2) / length;
        value = a.value + (b.value - a.value) * middle;
      }
      const double area = value * (width * kSecond);
      IntegralCell& cell = out_[hint_];
      cell.integral += area;
      cell.least += area;
      cell.most += area;
      cell.covered += width * kSecond;
      at = stop;
    }
  }

  const AxisCells& cells_;
  IntegralRule rule_;
  std::int64_t gap_;
  bool same_thing_;
  Covered covered_;
  std::vector<IntegralCell> out_;
  std::size_t hint_ = 0;
};

// Walks a series span by span, keeping the last point of each session.
class Chain {
 public:
  explicit Chain(Integrator& out) : out_(out) {}
  void points(const PointSpan& span) {
    Knot& last = last_[span.session];
    for (std::size_t i = 0; i < span.size(); ++i) {
      const Knot next{span.times[i], span.values[i], std::isfinite(span.values[i])};
      if (next.known) out_.line(last, next);
      last = next;
    }
  }

 private:
  Integrator& out_;
  std::map<std::int64_t, Knot> last_;
};

Result<> integrate_points(Cursor& cursor, const AxisCells& around, Integrator& out) {
  auto stream = TRY(PointStream::open(cursor, around.begin(), around.end(), {}));
  Chain chain(out);
  while (true) {
    const PointSpan span = TRY(stream.next());
    if (span.values.empty()) return {};
    chain.points(span);
  }
}

// Estimate: cells are shifted by one; the first holds all before the grid.
class BucketChain {
 public:
  BucketChain(Integrator& out, const AxisCells& cells) : out_(out), grid_(cells) {}

  static bool takes(std::size_t, const codec::Bucket&, int, bool whole) { return whole; }
  void bucket(std::size_t cell, const codec::Bucket& b, std::int64_t) {
    const bool some = b.count != b.not_finite();
    if (last_.time <= b.t0 && some) out_.line(last_, {b.t0, b.first, true});
    if (cell >= 1 && cell <= grid_.size()) out_.bucket(cell - 1, b, b.min);
    last_ = {b.t1, b.last, some};
  }
  void points(std::size_t, const PointSpan& span) {
    for (std::size_t i = 0; i < span.size(); ++i) {
      const Knot next{span.times[i], span.values[i], std::isfinite(span.values[i])};
      if (next.known) out_.line(last_, next);
      last_ = next;
    }
  }

 private:
  Integrator& out_;
  const AxisCells& grid_;
  Knot last_;
};

// Rates, each since the sample before it: in any order. Cells are shifted by one.
class RateChain {
 public:
  RateChain(Integrator& out, const AxisCells& cells, bool exact)
      : out_(out), grid_(cells), exact_(exact) {}

  bool takes(std::size_t, const codec::Bucket& b, int level, bool whole) {
    if (exact_ || !whole) return false;
    if ((b.not_finite() == 0 && !apart_) || opened_ >= kMostOpened) return true;
    if (level == 0) opened_ += b.count;
    return false;
  }
  void bucket(std::size_t cell, const codec::Bucket& b, std::int64_t) {
    const bool first = b.first_at == 0 && b.count != b.not_finite();
    if (first && last_ && *last_ <= b.t0) out_.line({*last_, 0, true}, {b.t0, b.first, true});
    // A reset inside may be as long as the bucket; no rate is less than 0.
    if (cell >= 1 && cell <= grid_.size())
      out_.bucket(cell - 1, b, b.not_finite() == 0 ? b.min : 0);
    last_ = b.t1;
    apart_ = false;
  }
  void points(std::size_t, const PointSpan& span) {
    for (std::size_t i = 0; i < span.size(); ++i) {
      if (std::isfinite(span.values[i]))
        out_.line({span.since[i], 0, true}, {span.times[i], span.values[i], true});
    }
    last_ = span.times.back();
    apart_ = !std::isfinite(span.values.back());
  }

 private:
  Integrator& out_;
  const AxisCells& grid_;
  bool exact_;
  std::uint64_t opened_ = 0;
  std::optional<std::int64_t> last_;
  bool apart_ = false;  // the last sample had no rate: the next one's may begin before it
};

template <class Walker>
Result<> walk_around(Cursor& cursor, const AxisCells& cells, const AxisCells& around,
                     Walker walker) {
  std::vector<std::int64_t> borders = cells.borders();
  borders.insert(borders.begin(), around.begin());
  borders.push_back(around.end());
  return walk_cells(cursor, AxisCells(std::move(borders)), {}, walker);
}

Result<IntegralSeries> integrate_one(store::PointView& view, const SeriesInput& input,
                                     const IntegralRequest& request) {
  const AxisCells cells = AxisCells::uniform(request.grid, input.origin);
  const std::int64_t gap = request.options.max_gap.count();
  const AxisCells around({add_clipped(cells.begin(), -gap), add_clipped(cells.end(), gap)});
  Cursor cursor(view, input.series, input.channel);
  Integrator out(cells, request.options, view.same_thing(input.series));
  const std::uint64_t count =
      TRY(count_points(cursor, GridAxis::kTime, around.begin(), around.end()));
  IntegralSeries series{.id = input.series, .cells = {}, .exact = true, .lost = {}};
  series.exact = count <= request.options.max_points;
  if (input.channel == store::Channel::kRate && request.options.rule == IntegralRule::kBackward) {
    TRY(walk_around(cursor, cells, around, RateChain(out, cells, series.exact)));
  } else if (series.exact) {
    TRY(integrate_points(cursor, around, out));
  } else {
    TRY(walk_around(cursor, cells, around, BucketChain(out, cells)));
  }
  series.cells = out.finish();
  series.lost = cursor.lost(GridAxis::kTime, around);
  return series;
}

}  // namespace

double IntegralCell::mean() const {
  return covered > 0 ? integral / covered : std::numeric_limits<double>::quiet_NaN();
}

Result<std::vector<IntegralSeries>> integrate(store::PointView& view,
                                              const IntegralRequest& request) {
  TRY(check_grid(request.grid));
  if (request.grid.axis != GridAxis::kTime)
    return fail(Code::kInvalidArgument, "an integral is over time; the grid is over steps");
  if (request.options.max_gap <= Nanos::zero())
    return fail(Code::kInvalidArgument, "max_gap must be positive");
  std::vector<IntegralSeries> all;
  all.reserve(request.series.size());
  for (const SeriesInput& input : request.series)
    all.push_back(TRY(integrate_one(view, input, request)));
  return all;
}

}  // namespace corral::query
