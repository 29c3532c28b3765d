#include "query/series/resample.h"

#include <algorithm>
#include <cmath>

#include "query/series/cell_walk.h"

namespace corral::query {
namespace {

// The place of a first or last point: x in [low, high], number known.
struct EndPosition {
  std::int64_t low = 0, high = 0;
  std::int64_t order = 0;
  bool operator==(const EndPosition&) const = default;
};

struct CellEnds {
  EndPosition first, last;
};

struct EndValues {
  double first = 0, last = 0;
  CellEnds at;
};

class Gather {
 public:
  Gather(Cursor& cursor, const AxisCells& cells, const ResampleRequest& request)
      : cursor_(cursor),
        cells_(cells),
        steps_(request.grid.axis == GridAxis::kStep),
        ends_(request.ends),
        exact_(request.exactness == Exactness::kExact),
        limit_(difference(cells.begin(), cells.end()) / static_cast<double>(cells.size()) / 2),
        out_(cells.size()),
        extents_(request.ends ? cells.size() : 0) {}

  bool takes(std::size_t, const codec::Bucket& b, int level, bool whole) {
    if (exact_ && ends_ && steps_ && !b.steps_ascend) return false;
    if (whole) return true;
    if (exact_) return false;
    const double length = difference(steps_ ? b.s0 : b.t0, steps_ ? b.s1 : b.t1);
    return length <= (level == 0 ? 2 * limit_ : limit_);
  }

  void bucket(std::size_t cell, const codec::Bucket& b, std::int64_t order) {
    const std::int64_t x0 = steps_ ? b.s0 : b.t0;
    const std::int64_t x1 = steps_ ? b.s1 : b.t1;
    if (x1 >= cells_.end(cell)) all_in_place_ = false;
    series.from_buckets += b.count;
    Cell& out = out_[cell];
    out.not_finite += b.not_finite();
    const std::uint32_t count = b.count - b.not_finite();
    if (count == 0) return;
    if (ends_) {
      const bool at_first = !exact_ || b.first_at == 0;
      const bool at_last = !exact_ || b.last_at + 1 == b.count;
      merge_ends(cell, {.first = b.first,
                        .last = b.last,
                        .at = {.first = {x0, at_first ? x0 : x1, order + b.first_at},
                               .last = {at_last ? x1 : x0, x1, order + b.last_at}}});
    }
    merge(out, {.count = count, .not_finite = 0, .sum = b.sum, .min = b.min, .max = b.max});
  }

  void points(std::size_t cell, const PointSpan& span) {
    series.from_points += span.size();
    Cell part{.min = std::numeric_limits<double>::infinity(),
              .max = -std::numeric_limits<double>::infinity()};
    for (const double v : span.values) {
      if (!std::isfinite(v)) {
        ++part.not_finite;
        continue;
      }
      ++part.count;
      part.sum += v;
      part.min = std::min(part.min, v);
      part.max = std::max(part.max, v);
    }
    out_[cell].not_finite += part.not_finite;
    if (part.count == 0) return;
    if (ends_) merge_points_ends(cell, span);
    merge(out_[cell], part);
  }

  Result<ResampledSeries> finish() {
    TRY(std::move(status_));
    series.cells = std::move(out_);
    series.exact = all_in_place_;
    series.lost = cursor_.lost(steps_ ? GridAxis::kStep : GridAxis::kTime, cells_);
    return std::move(series);
  }

  ResampledSeries series;

 private:
  static void merge(Cell& into, const Cell& part) {
    const bool empty = into.count == 0;
    into.min = empty ? part.min : std::min(into.min, part.min);
    into.max = empty ? part.max : std::max(into.max, part.max);
    into.count += part.count;
    into.sum += part.sum;
  }

  void merge_points_ends(std::size_t cell, const PointSpan& span) {
    const auto xs = steps_ ? span.steps : span.times;
    std::size_t first = 0;
    while (!std::isfinite(span.values[first])) ++first;
    std::size_t last = span.size() - 1;
    while (!std::isfinite(span.values[last])) --last;
    const auto place = [&](std::size_t i) {
      return EndPosition{xs[i], xs[i], span.order + static_cast<std::int64_t>(i)};
    };
    merge_ends(cell, {.first = span.values[first],
                      .last = span.values[last],
                      .at = {.first = place(first), .last = place(last)}});
  }

  // Called before the cell's count grows.
  void merge_ends(std::size_t cell, const EndValues& side) {
    Cell& out = out_[cell];
    CellEnds& at = extents_[cell];
    CellEnds with = side.at;
    if (out.count == 0 || before(with.first, at.first)) {
      out.first = side.first;
      at.first = with.first;
    }
    if (out.count == 0 || before(at.last, with.last)) {
      out.last = side.last;
      at.last = with.last;
    }
  }

  bool before(EndPosition& a, EndPosition& b) {
    if (a.high < b.low) return true;
    if (b.high < a.low) return false;
    settle(a);
    settle(b);
    return std::pair(a.low, a.order) < std::pair(b.low, b.order);
  }

  void settle(EndPosition& place) {
    if (place.low == place.high) return;
    const auto at = cursor_.at(place.order);
    if (at) {
      place.low = place.high = steps_ ? at->step.value_or(place.low) : at->time;
    } else if (at.error().code == Code::kCorruption) {
      place.high = place.low;
    } else {
      status_ = tl::unexpected<Error>(at.error());
    }
  }

  Cursor& cursor_;
  const AxisCells& cells_;
  bool steps_, ends_, exact_;
  double limit_;  // the longest bucket on the axis
  bool all_in_place_ = true;
  std::vector<Cell> out_;
  std::vector<CellEnds> extents_;
  Result<> status_;
};

Result<> check_columns(const ResampleRequest& request) {
  if (request.borders.empty()) return check_grid(request.grid);
  if (request.borders.size() >= 2 && request.borders.size() <= kMaxGridColumns + 1 &&
      std::ranges::is_sorted(request.borders))
    return {};
  return fail(Code::kInvalidArgument, "borders must ascend, and make 1 to 8192 columns");
}

}  // namespace

Result<std::vector<ResampledSeries>> resample(store::PointView& view,
                                              const ResampleRequest& request) {
  TRY(check_columns(request));
  std::vector<ResampledSeries> all;
  all.reserve(request.series.size());
  for (const SeriesInput& input : request.series) {
    const AxisCells cells = request.borders.empty() ? AxisCells::uniform(request.grid, input.origin)
                                                    : AxisCells(request.borders);
    Cursor cursor(view, input.series, input.channel);
    Gather gather(cursor, cells, request);
    gather.series.id = input.series;
    const bool in_blocks = request.ends && request.exactness == Exactness::kExact;
    TRY(walk_cells(cursor, cells,
                   {.axis = request.grid.axis, .max_level = in_blocks ? kBlockLevel : kTopLevel},
                   gather));
    all.push_back(TRY(gather.finish()));
  }
  return all;
}

}  // namespace corral::query
