#include "query/chart/xy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "codec/wire.h"
#include "query/chart/xy_pairs.h"

namespace corral::query {
namespace {

constexpr std::uint16_t kVersion = 1;
constexpr std::uint32_t kSpansLost = 1;

using Infos = std::map<SeriesId, store::Series>;

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

Result<Infos> read_infos(store::Store& store, const XyRequest& request) {
  std::set<SeriesId> ids;
  for (const XyRequest::Line& line : request.lines) ids.insert({line.x, line.y});
  Infos infos;
  for (store::Series& info : TRY(store.series(std::vector(ids.begin(), ids.end()))))
    infos.emplace(info.id, std::move(info));
  for (const SeriesId id : ids) {
    if (!infos.contains(id))
      return fail(Code::kNotFound, fmt::format("there is no series {}", id.value));
  }
  return infos;
}

SeriesInput input_of(const XyRequest& request, const store::Series& info) {
  return {
      .series = info.id,
      .channel = as_rate(request.mode, info.kind) ? store::Channel::kRate : store::Channel::kValue};
}

Result<Pairs> pairs_of(store::PointView& view, const XyRequest& request, PairRequest wanted,
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

// Takes out what a logarithmic axis cannot show.
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

Result<XyLine> read_line(store::Store& store, const XyRequest& request, const Infos& infos,
                         const XyRequest::Line& question) {
  XyLine line;
  const store::Series& x = infos.at(question.x);
  const store::Series& y = infos.at(question.y);
  const bool steps = request.pairing == XyPairing::kStep ||
                     (request.pairing == XyPairing::kAuto && x.first_step && y.first_step);
  const PairRequest wanted{.x = input_of(request, x),
                           .y = input_of(request, y),
                           .by = steps ? PairBy::kStep : PairBy::kTime,
                           .most = kMostXyPairs / request.lines.size()};
  line.rate = static_cast<std::uint8_t>((wanted.x.channel == store::Channel::kRate ? 1 : 0) |
                                        (wanted.y.channel == store::Channel::kRate ? 2 : 0));
  const auto read = [&](store::PointView& view) -> Result<> {
    Pairs pairs = TRY(pairs_of(view, request, wanted, line));
    line.unpaired = pairs.unpaired;
    line.not_finite = pairs.not_finite;
    line.exact = pairs.exact;
    line.lost = pairs.lost;
    line.pairs = pairs.path.size();
    line.points = std::move(pairs.path);
    return {};
  };
  const std::set<SeriesId> ids{x.id, y.id};
  TRY(store.view(std::vector(ids.begin(), ids.end()), read));
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

PixelPlane plane_of(const XyRequest& request, const std::vector<XyLine>& lines) {
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

Result<Xy> make_xy(store::Store& store, const XyRequest& request) {
  TRY(check(request));
  const Infos infos = TRY(read_infos(store, request));
  Xy xy;
  for (const XyRequest::Line& line : request.lines)
    xy.lines.push_back(TRY(read_line(store, request, infos, line)));
  xy.plane = plane_of(request, xy.lines);
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
