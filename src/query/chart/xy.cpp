#include "query/chart/xy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "codec/wire.h"
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
  // In order of time. Skips points without a rate and, when pairing by step, points without a step.
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
    std::size_t at = 0;  // index of the first step that is not below y's
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
    std::size_t next = 0;  // index of the first point later than y's
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

namespace {

constexpr std::uint16_t kVersion = 1;
constexpr std::uint32_t kSpansLost = 1;

Result<> check_axis(const XyAxis& axis) {
  if (axis.pixels < 1 || axis.pixels > kMaxChartWidth)
    return fail(Code::kInvalidArgument, fmt::format("a picture has 1 to {} pixels each way, got {}",
                                                    kMaxChartWidth, axis.pixels));
  if (axis.from && axis.to && !(*axis.from < *axis.to))
    return fail(Code::kInvalidArgument, "an axis must end after it begins");
  if (axis.log && (axis.from.value_or(1) <= 0 || axis.to.value_or(1) <= 0))
    return fail(Code::kInvalidArgument, "a logarithmic axis lies above 0");
  return {};
}

Result<> check(const XyRequest& request) {
  if (request.lines.empty() || request.lines.size() > kMaxXyLines)
    return fail(Code::kInvalidArgument,
                fmt::format("between 1 and {} lines, got {}", kMaxXyLines, request.lines.size()));
  TRY(check_axis(request.x));
  TRY(check_axis(request.y));
  if (request.from && request.to && *request.from >= *request.to)
    return fail(Code::kInvalidArgument, "the range of time must end after it begins");
  return {};
}

Result<Pairs> find_pairs(store::PointView& view, const XyRequest& request, PairRequest wanted,
                         XyLine& line) {
  wanted.from = request.from.value_or(wanted.from);
  wanted.to = request.to.value_or(wanted.to);
  line.by_step = wanted.by == PairBy::kStep;
  Pairs pairs = TRY(pair_up(view, wanted));
  if (request.pairing != XyPairing::kAuto || !line.by_step || !pairs.path.empty() ||
      pairs.not_finite > 0)
    return pairs;
  line.by_step = false;
  wanted.by = PairBy::kTime;
  return pair_up(view, wanted);
}

// Removes points that a logarithmic axis cannot show.
void drop_below_zero(const XyRequest& request, XyLine& line) {
  if (!request.x.log && !request.y.log) return;
  std::vector<PathPoint> shown;
  bool cut = false;
  for (const PathPoint& point : line.points) {
    cut = cut || point.starts;
    if ((request.x.log && point.x <= 0) || (request.y.log && point.y <= 0)) {
      ++line.not_finite;
      cut = true;
      continue;
    }
    shown.push_back(point);
    shown.back().starts = cut;
    cut = false;
  }
  line.pairs = shown.size();
  line.points = std::move(shown);
}

Result<XyLine> read_line(const store::Reader& store, const XyRequest& request,
                         const SeriesRecords& records, const XyRequest::Line& question) {
  XyLine line;
  const store::Series& x = records.at(question.x);
  const store::Series& y = records.at(question.y);
  const bool steps = request.pairing == XyPairing::kStep ||
                     (request.pairing == XyPairing::kAuto && x.first_step && y.first_step);
  const PairRequest wanted{.x = input_from(x, request.mode),
                           .y = input_from(y, request.mode),
                           .by = steps ? PairBy::kStep : PairBy::kTime,
                           .most = kMostXyPairs / request.lines.size()};
  line.rate = static_cast<std::uint8_t>((wanted.x.channel == store::Channel::kRate ? 1 : 0) |
                                        (wanted.y.channel == store::Channel::kRate ? 2 : 0));
  const auto read = [&](store::PointView& view) -> Result<> {
    Pairs pairs = TRY(find_pairs(view, request, wanted, line));
    line.unpaired = pairs.unpaired;
    line.not_finite = pairs.not_finite;
    line.exact = pairs.exact;
    line.lost = pairs.lost;
    line.pairs = pairs.path.size();
    line.points = std::move(pairs.path);
    return {};
  };
  TRY(store.view(distinct({x.id, y.id}), read));
  drop_below_zero(request, line);
  return line;
}

// ---- the picture
class Span {
 public:
  void add(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  // Ends that were not asked for are those of the data; one end beyond all data leaves a point.
  [[nodiscard]] PixelAxis axis(const XyAxis& wanted) const {
    const bool some = low_ <= high_;
    PixelAxis axis{.low = some         ? low_
                          : wanted.log ? 1.0
                                       : 0.0,
                   .high = some ? high_ : 1.0,
                   .cells = wanted.pixels,
                   .log = wanted.log};
    axis.low = wanted.from.value_or(wanted.to ? std::min(axis.low, *wanted.to) : axis.low);
    axis.high = wanted.to.value_or(std::max(axis.low, axis.high));
    return axis;
  }

 private:
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

PixelPlane visible_plane(const XyRequest& request, const std::vector<XyLine>& lines) {
  Span x, y;
  for (const XyLine& line : lines)
    for (const PathPoint& point : line.points) x.add(point.x);
  PixelPlane plane{.x = x.axis(request.x), .y = {}};
  for (const XyLine& line : lines) {
    for (const PathPoint& point : line.points)
      if (plane.x.contains(point.x)) y.add(point.y);
  }
  plane.y = y.axis(request.y);
  return plane;
}

void reduce(const XyRequest& request, const PixelPlane& plane, XyLine& line) {
  line.joined = request.joined;
  if (line.joined) {
    std::vector<PathPoint> path = reduce_path(line.points, plane);
    if (path.size() <= kMostXyPoints) {
      line.points = std::move(path);
      return;
    }
    line.joined = false;
  }
  PlacedPoints placed = reduce_points(line.points, plane, kMostXyPoints);
  line.left_out = placed.left_out;
  line.points = std::move(placed.points);
}

void put_line(codec::WireWriter& out, const XyLine& line) {
  std::vector<std::uint32_t> starts;
  for (std::size_t i = 0; line.joined && i < line.points.size(); ++i)
    if (i == 0 || line.points[i].starts) starts.push_back(static_cast<std::uint32_t>(i));
  out.put(line.pairs);
  out.put(line.unpaired);
  out.put(line.not_finite);
  out.put(line.left_out);
  out.put(line.lost.points);
  out.put(static_cast<std::uint32_t>(line.points.size()));
  out.put(static_cast<std::uint32_t>(starts.size()));
  out.put(line.lost.spans ? kSpansLost : std::uint32_t{0});
  out.put(static_cast<std::uint8_t>(line.exact));
  out.put(static_cast<std::uint8_t>(line.by_step));
  out.put(static_cast<std::uint8_t>(line.joined));
  out.put(line.rate);
  for (const PathPoint& point : line.points) out.put(point.x);
  for (const PathPoint& point : line.points) out.put(point.y);
  for (const PathPoint& point : line.points) out.put(point.time);
  for (const std::uint32_t start : starts) out.put(start);
  if (starts.size() % 2 != 0) out.put(std::uint32_t{0});
}

}  // namespace

Result<Xy> make_xy(const store::Reader& store, const XyRequest& request) {
  TRY(check(request));
  std::vector<SeriesId> ids;
  for (const XyRequest::Line& line : request.lines) ids.insert(ids.end(), {line.x, line.y});
  const SeriesRecords records = TRY(read_series(store, ids));
  Xy xy;
  for (const XyRequest::Line& line : request.lines)
    xy.lines.push_back(TRY(read_line(store, request, records, line)));
  xy.plane = visible_plane(request, xy.lines);
  for (XyLine& line : xy.lines) reduce(request, xy.plane, line);
  return xy;
}

std::string encode_xy(const Xy& xy) {
  codec::WireWriter out;
  out.append("CRXY", 4);
  out.put(kVersion);
  out.put(static_cast<std::uint16_t>(xy.lines.size()));
  out.put(xy.plane.x.cells);
  out.put(xy.plane.y.cells);
  for (const PixelAxis* axis : {&xy.plane.x, &xy.plane.y}) {
    out.put(axis->low);
    out.put(axis->high);
  }
  for (const XyLine& line : xy.lines) put_line(out, line);
  const auto bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace corral::query
