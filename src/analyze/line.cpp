#include "analyze/line.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "analyze/derived.h"
#include "analyze/repetition.h"
#include "codec/wire.h"
#include "query/series/extent.h"
#include "query/series/resample.h"

namespace corral::analyze {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// The points that an exact answer may read one by one, over all series together. The second limit
// is for an aligned answer: beyond so many points of one series it takes buckets.
constexpr std::uint64_t kExactPoints = std::uint64_t{1} << 28;
constexpr std::uint64_t kAlignedPoints = std::uint64_t{1} << 18;

using Infos = std::map<SeriesId, store::Series>;

bool is_group(LineKind kind) { return kind == LineKind::kGroup || kind == LineKind::kCompare; }

Result<> check_line(const LineQuestion& line, query::ChartAxis axis) {
  const std::size_t n = line.series.size();
  const bool many = is_group(line.kind);
  const std::size_t wanted =
      line.kind == LineKind::kRatio || line.kind == LineKind::kCompare ? 2 : 1;
  if (many ? n < wanted : n != wanted) {
    return fail(Code::kInvalidArgument, fmt::format("a line of this kind takes {}{} series, got {}",
                                                    many ? "at least " : "", wanted, n));
  }
  const std::size_t origins = axis == query::ChartAxis::kRelative ? n : 0;
  if (line.origins.size() != origins) {
    return fail(Code::kInvalidArgument,
                fmt::format("origins must be {} in number, got {}", origins, line.origins.size()));
  }
  if (line.kind == LineKind::kCompare && (line.baseline < 1 || line.baseline >= n))
    return fail(Code::kInvalidArgument, "a comparison needs series and a baseline");
  if (line.kind == LineKind::kIntegral && axis == query::ChartAxis::kStep)
    return fail(Code::kInvalidArgument, "an integral is over time, not over steps");
  return {};
}

Result<> check(const LineRequest& request) {
  if (request.width < 1 || request.width > query::kMaxChartWidth) {
    return fail(Code::kInvalidArgument, fmt::format("width must be between 1 and {}, got {}",
                                                    query::kMaxChartWidth, request.width));
  }
  std::size_t series = 0;
  for (const LineQuestion& line : request.lines) {
    TRY(check_line(line, request.axis));
    series += line.series.size();
  }
  if (request.lines.empty() || request.lines.size() > kMaxLines || series > kMaxLineSeries) {
    return fail(Code::kInvalidArgument,
                fmt::format("between 1 and {} lines of at most {} series, got {} of {}", kMaxLines,
                            kMaxLineSeries, request.lines.size(), series));
  }
  if (request.from && request.to && *request.from >= *request.to)
    return fail(Code::kInvalidArgument,
                fmt::format("from ({}) must be before to ({})", *request.from, *request.to));
  return {};
}

Result<Infos> read_infos(const store::Reader& store, const LineRequest& request) {
  std::set<SeriesId> unique;
  for (const LineQuestion& line : request.lines)
    unique.insert(line.series.begin(), line.series.end());
  Infos infos;
  for (store::Series& info : TRY(store.series(std::vector(unique.begin(), unique.end()))))
    infos.emplace(info.id, std::move(info));
  for (const SeriesId id : unique) {
    if (!infos.contains(id))
      return fail(Code::kNotFound, fmt::format("there is no series {}", id.value));
  }
  return infos;
}

Result<> add_steps(const store::Reader& store, std::span<const SeriesId> ids,
                   query::DataRange& data) {
  return store.view(ids, [&](store::PointView& view) -> Result<> {
    for (const SeriesId id : ids) {
      if (const auto extent = TRY(query::find_extent(view, id, query::GridAxis::kStep)))
        data.add(*extent, 0);
    }
    return {};
  });
}

// Returns the range that holds the data of all series.
Result<query::Range> find_data(const store::Reader& store, const LineRequest& request,
                               const Infos& infos) {
  query::DataRange data;
  if (request.axis == query::ChartAxis::kStep) {
    std::vector<SeriesId> ids;
    for (const auto& [id, info] : infos) ids.push_back(id);
    for (std::size_t i = 0; i < ids.size(); i += kLineSeriesAtOnce) {
      const std::size_t count = std::min(kLineSeriesAtOnce, ids.size() - i);
      TRY(add_steps(store, std::span(ids).subspan(i, count), data));
    }
    return data.range();
  }
  for (const LineQuestion& line : request.lines) {
    for (std::size_t i = 0; i < line.series.size(); ++i) {
      const store::Series& info = infos.at(line.series[i]);
      if (info.points == 0) continue;
      data.add({.first = ns_of(info.first), .last = ns_of(info.last_time)},
               line.origins.empty() ? 0 : line.origins[i]);
    }
  }
  return data.range();
}

Result<query::Range> choose_range(const store::Reader& store, const LineRequest& request,
                                  const Infos& infos) {
  if (request.from && request.to) return query::Range{.from = *request.from, .to = *request.to};
  return query::range_between(request.from, request.to, TRY(find_data(store, request, infos)));
}

// ---- one line
class LineMaker {
 public:
  LineMaker(const store::Reader& store, const LineRequest& request, const Infos& infos,
            query::Range range)
      : store_(store), request_(request), infos_(infos) {
    grid_ = {.axis = request.axis == query::ChartAxis::kStep ? query::GridAxis::kStep
                                                             : query::GridAxis::kTime,
             .from = range.from,
             .to = range.to,
             .columns = request.width};
    std::uint64_t series = 0;
    std::uint64_t most = 0;
    for (const LineQuestion& line : request.lines) {
      series += line.series.size();
      for (const SeriesId id : line.series)
        most += std::min(static_cast<std::uint64_t>(infos.at(id).points),
                         std::uint64_t{2} * codec::kBucketPoints * request.width);
    }
    share_ = request.exact ? kExactPoints / series : kAlignedPoints;
    exactness_ = request.exact && most <= kExactPoints ? query::Exactness::kExact
                                                       : query::Exactness::kAligned;
  }

  // A line of at most kLineSeriesAtOnce series.
  Result<Line> small(store::PointView& view, const LineQuestion& question) {
    Line line;
    line.kind = question.kind;
    const std::vector<query::SeriesInput> inputs = inputs_of(question, line);
    switch (question.kind) {
      case LineKind::kMean:
        TRY(mean(view, inputs, line));
        break;
      case LineKind::kSmooth:
        TRY(smoothed(view, inputs, question, line));
        break;
      case LineKind::kIntegral:
        TRY(integral(view, inputs, question, line));
        break;
      case LineKind::kRatio:
        TRY(ratio(view, inputs, line));
        break;
      case LineKind::kGroup:
      case LineKind::kCompare:
        break;
    }
    return line;
  }

  // A group, or one against another.
  Result<Line> group(const LineQuestion& question) {
    Line line;
    line.kind = question.kind;
    const Members all = TRY(members_of(question, line));
    GroupRequest request{.members = all.members,
                         .aggregation = all.aggregation,
                         .repetitions = all.repetitions,
                         .confidence = question.group.confidence,
                         .max_hole = question.group.max_hole};
    if (question.kind == LineKind::kGroup) {
      say(TRY(aggregate_group(request)), line);
      return line;
    }
    const auto split = all.members.end() - static_cast<std::ptrdiff_t>(question.baseline);
    request.members.assign(all.members.begin(), split);
    const GroupAnswer answer = TRY(aggregate_group(request));
    request.members.assign(split, all.members.end());
    compare(answer, TRY(aggregate_group(request)), question.difference, line);
    return line;
  }

 private:
  struct Members {
    std::vector<query::ResampledSeries> series;
    std::vector<GroupMember> members;  // one per entry of `series`
    metric::Aggregation aggregation = metric::Aggregation::kMean;
    bool repetitions = false;
  };

  Result<Members> members_of(const LineQuestion& question, Line& line) {
    const std::vector<store::Series> infos = TRY(alike(question));
    Members all;
    all.series = TRY(resample_all(inputs_of(question, line)));
    const bool wanted = question.kind == LineKind::kGroup && !question.group.repetitions;
    const Ownership ownership = TRY(ownership_of(store_, infos, wanted && all.series.size() > 1));
    all.aggregation = infos.front().aggregation;
    all.repetitions = question.group.repetitions.value_or(ownership.repetitions);
    for (std::size_t i = 0; i < all.series.size(); ++i) {
      const query::ResampledSeries& one = all.series[i];
      all.members.push_back({.series = &one,
                             .owner = ownership.series[i].owner,
                             .thing = ownership.series[i].thing,
                             .first = ns_of(infos[i].first),
                             .last = ns_of(infos[i].last_time)});
      line.lost.add(one.lost);
      for (const query::Cell& cell : one.cells) line.points += cell.count;
    }
    return all;
  }

  void compare(const GroupAnswer& group, const GroupAnswer& baseline, bool difference,
               Line& line) const {
    line.exact = group.exact && baseline.exact;
    line.units = group.units;
    line.counted_once = group.counted_once + baseline.counted_once;
    std::vector<double> values(request_.width, kNone);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (group.n[i] == 0 || baseline.n[i] == 0) continue;
      if (difference) {
        values[i] = group.mean[i] - baseline.mean[i];
      } else if (baseline.mean[i] == 0) {
        ++line.zero_denominators;
      } else {
        values[i] = group.mean[i] / baseline.mean[i];
      }
    }
    line.arrays = {std::move(values), group.mean, baseline.mean, doubles_of(group.n),
                   doubles_of(baseline.n)};
  }

  static std::vector<double> doubles_of(const std::vector<std::uint32_t>& counts) {
    return {counts.begin(), counts.end()};
  }

  [[nodiscard]] std::vector<query::SeriesInput> inputs_of(const LineQuestion& question,
                                                          Line& line) const {
    std::vector<query::SeriesInput> inputs;
    const std::size_t split = question.series.size() - question.baseline;
    for (std::size_t i = 0; i < question.series.size(); ++i) {
      const SeriesId id = question.series[i];
      const bool rate = query::as_rate(question.mode, infos_.at(id).kind);
      const bool second = question.kind == LineKind::kGroup     ? false
                          : question.kind == LineKind::kCompare ? i >= split
                                                                : i > 0;
      if (rate) line.rate |= static_cast<std::uint8_t>(second ? 2U : 1U);
      inputs.push_back({.series = id,
                        .channel = rate ? store::Channel::kRate : store::Channel::kValue,
                        .origin = question.origins.empty() ? 0 : question.origins[i]});
    }
    return inputs;
  }

  // A group is of one kind of thing.
  Result<std::vector<store::Series>> alike(const LineQuestion& question) const {
    std::vector<store::Series> infos;
    for (const SeriesId id : question.series) infos.push_back(infos_.at(id));
    const store::Series& first = infos.front();
    for (const store::Series& info : infos) {
      if (info.kind != first.kind || info.aggregation != first.aggregation ||
          info.unit != first.unit) {
        return fail(Code::kInvalidArgument,
                    fmt::format("the series of a group must measure the same: {} ({}) and {} ({}) "
                                "differ in unit, kind or aggregation",
                                first.id.value, first.name, info.id.value, info.name));
      }
    }
    return infos;
  }

  [[nodiscard]] query::ResampleRequest resampling(std::vector<query::SeriesInput> inputs) const {
    return {.series = std::move(inputs), .grid = grid_, .exactness = exactness_, .ends = false};
  }

  Result<std::vector<query::ResampledSeries>> resample_all(
      const std::vector<query::SeriesInput>& inputs) {
    std::vector<query::ResampledSeries> all;
    for (std::size_t i = 0; i < inputs.size(); i += kLineSeriesAtOnce) {
      const auto end = std::min(i + kLineSeriesAtOnce, inputs.size());
      const std::vector<query::SeriesInput> lot(inputs.begin() + static_cast<std::ptrdiff_t>(i),
                                                inputs.begin() + static_cast<std::ptrdiff_t>(end));
      std::set<SeriesId> ids;
      for (const query::SeriesInput& input : lot) ids.insert(input.series);
      const auto read = [&](store::PointView& view) -> Result<> {
        for (query::ResampledSeries& one : TRY(query::resample(view, resampling(lot))))
          all.push_back(std::move(one));
        return {};
      };
      TRY(store_.view(std::vector(ids.begin(), ids.end()), read));
    }
    return all;
  }

  Result<> mean(store::PointView& view, const std::vector<query::SeriesInput>& inputs, Line& line) {
    const auto all = TRY(query::resample(view, resampling(inputs)));
    line.exact = all.front().exact;
    line.lost = all.front().lost;
    line.arrays.assign(4, std::vector<double>(request_.width, kNone));
    for (std::size_t i = 0; i < request_.width; ++i) {
      const query::Cell& cell = all.front().cells[i];
      line.points += cell.count;
      line.arrays[3][i] = static_cast<double>(cell.count);
      if (cell.count == 0) continue;
      line.arrays[0][i] = cell.mean();
      line.arrays[1][i] = cell.min;
      line.arrays[2][i] = cell.max;
    }
    return {};
  }

  Result<> smoothed(store::PointView& view, const std::vector<query::SeriesInput>& inputs,
                    const LineQuestion& question, Line& line) {
    query::SmoothRequest request{.series = inputs, .grid = grid_, .options = question.smooth};
    request.options.max_points = std::min(request.options.max_points, share_);
    auto all = TRY(query::smooth(view, request));
    line.exact = !all.front().from_buckets;
    line.in_order = all.front().in_order;
    line.window = all.front().width;
    line.lost = all.front().lost;
    line.arrays.push_back(std::move(all.front().values));
    return {};
  }

  Result<> integral(store::PointView& view, const std::vector<query::SeriesInput>& inputs,
                    const LineQuestion& question, Line& line) {
    const bool rate = inputs.front().channel == store::Channel::kRate;
    query::IntegralOptions options{
        .rule = question.rule.value_or(rate ? query::IntegralRule::kBackward
                                            : query::IntegralRule::kTrapezoid),
        .max_gap = question.max_gap};
    options.max_points = std::min(options.max_points, share_);
    const auto all =
        TRY(query::integrate(view, {.series = inputs, .grid = grid_, .options = options}));
    line.exact = all.front().exact;
    line.lost = all.front().lost;
    line.arrays.assign(4, {});
    for (const query::IntegralCell& cell : all.front().cells) {
      const bool some = cell.covered > 0;
      line.arrays[0].push_back(some ? cell.integral : kNone);
      line.arrays[1].push_back(cell.covered);
      line.arrays[2].push_back(some ? cell.least : kNone);
      line.arrays[3].push_back(some ? cell.most : kNone);
    }
    return {};
  }

  Result<> ratio(store::PointView& view, const std::vector<query::SeriesInput>& inputs,
                 Line& line) {
    const auto all = TRY(query::resample(view, resampling(inputs)));
    for (const query::ResampledSeries& one : all) {
      line.lost.add(one.lost);
      for (const query::Cell& cell : one.cells) line.points += cell.count;
    }
    Ratio ratio = TRY(ratio_of(all[0], all[1]));
    line.exact = ratio.exact;
    line.zero_denominators = ratio.zero_denominators;
    line.arrays.push_back(std::move(ratio.values));
    return {};
  }

  void say(GroupAnswer answer, Line& line) const {
    line.exact = answer.exact;
    line.reason = answer.reason;
    line.units = answer.units;
    line.counted_once = answer.counted_once;
    if (answer.sum.empty()) answer.sum.assign(request_.width, kNone);
    line.arrays = {std::move(answer.mean),     std::move(answer.low),
                   std::move(answer.high),     std::move(answer.deviation),
                   std::move(answer.interval), std::move(answer.least),
                   std::move(answer.greatest), doubles_of(answer.n),
                   doubles_of(answer.filled),  std::move(answer.sum)};
  }

  store::Reader store_;
  const LineRequest& request_;
  const Infos& infos_;
  query::AxisGrid grid_;
  std::uint64_t share_ = 0;  // points that one series may take
  query::Exactness exactness_ = query::Exactness::kAligned;
};

// The lines from `first` on that are read in one snapshot: how many, and their series.
std::size_t lot_of(const std::vector<LineQuestion>& lines, std::size_t first,
                   std::set<SeriesId>& ids) {
  std::size_t end = first;
  while (end < lines.size() && !is_group(lines[end].kind) &&
         ids.size() + lines[end].series.size() <= kLineSeriesAtOnce) {
    ids.insert(lines[end].series.begin(), lines[end].series.end());
    ++end;
  }
  return end;
}

}  // namespace

Result<Lines> make_lines(const store::Reader& store, const LineRequest& request) {
  TRY(check(request));
  const Infos infos = TRY(read_infos(store, request));
  const query::Range range = TRY(choose_range(store, request, infos));
  Lines answer{.axis = request.axis,
               .from = range.from,
               .to = range.to,
               .width = request.width,
               .lines = {}};
  LineMaker maker(store, request, infos, range);
  for (std::size_t i = 0; i < request.lines.size();) {
    if (is_group(request.lines[i].kind)) {
      answer.lines.push_back(TRY(maker.group(request.lines[i++])));
      continue;
    }
    std::set<SeriesId> ids;
    const std::size_t end = lot_of(request.lines, i, ids);
    const auto read = [&](store::PointView& view) -> Result<> {
      for (; i < end; ++i) answer.lines.push_back(TRY(maker.small(view, request.lines[i])));
      return {};
    };
    TRY(store.view(std::vector(ids.begin(), ids.end()), read));
  }
  return answer;
}

namespace {

constexpr std::uint16_t kVersion = 1;
constexpr std::uint32_t kSpansLost = 1, kOutOfOrder = 2;

void put_line(codec::WireWriter& out, const Line& line) {
  out.put(static_cast<std::uint8_t>(line.kind));
  out.put(static_cast<std::uint8_t>(line.exact));
  out.put(line.rate);
  out.put(static_cast<std::uint8_t>(line.reason));
  out.put(static_cast<std::uint32_t>(line.arrays.size()));
  out.put(line.points);
  out.put(line.lost.points);
  out.put((line.lost.spans ? kSpansLost : 0) | (line.in_order ? 0 : kOutOfOrder));
  out.put(line.units);
  out.put(line.counted_once);
  out.put(line.zero_denominators);
  out.put(line.window);
  for (const std::vector<double>& array : line.arrays)
    out.append(array.data(), array.size() * sizeof(double));
}

}  // namespace

std::string encode_lines(const Lines& lines) {
  codec::WireWriter out;
  out.append("CRLN", 4);
  out.put(kVersion);
  out.put(static_cast<std::uint16_t>(lines.lines.size()));
  out.put(lines.width);
  out.put(static_cast<std::uint32_t>(lines.axis));
  out.put(lines.from);
  out.put(lines.to);
  for (const Line& line : lines.lines) put_line(out, line);
  const auto bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace corral::analyze
