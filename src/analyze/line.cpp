#include "analyze/line.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

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
  TRY(query::check_origins(axis, line.origins.size(), n));
  if (line.kind == LineKind::kCompare && (line.baseline < 1 || line.baseline >= n))
    return fail(Code::kInvalidArgument, "a comparison needs series and a baseline");
  if (line.kind == LineKind::kIntegral && axis == query::ChartAxis::kStep)
    return fail(Code::kInvalidArgument, "an integral is over time, not over steps");
  return {};
}

Result<> check(const LineRequest& request) {
  TRY(query::check_width(request.width));
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
  return query::check_ends(request.from, request.to);
}

// Returns the range that holds the data of all series.
Result<query::Range> find_data(const store::Reader& store, const LineRequest& request,
                               const query::SeriesRecords& records) {
  query::DataRange data;
  if (request.axis == query::ChartAxis::kStep) {
    std::vector<query::SeriesInput> inputs;
    for (const auto& [id, record] : records) inputs.push_back({.series = id});
    const auto read = [&](store::PointView& view, std::size_t i) -> Result<> {
      const SeriesId id = inputs[i].series;
      if (const auto extent = TRY(query::find_extent(view, id, query::GridAxis::kStep)))
        data.add(*extent, 0);
      return {};
    };
    TRY(query::view_each(store, inputs, read));
    return data.range();
  }
  for (const LineQuestion& line : request.lines) {
    for (std::size_t i = 0; i < line.series.size(); ++i) {
      const store::Series& record = records.at(line.series[i]);
      if (record.points == 0) continue;
      data.add({.first = ns_of(record.first), .last = ns_of(record.last_time)},
               line.origins.empty() ? 0 : line.origins[i]);
    }
  }
  return data.range();
}

Result<query::Range> choose_range(const store::Reader& store, const LineRequest& request,
                                  const query::SeriesRecords& records) {
  if (request.from && request.to) return query::Range{.from = *request.from, .to = *request.to};
  return query::range_between(request.from, request.to, TRY(find_data(store, request, records)));
}

// ---- one line
class LineMaker {
 public:
  LineMaker(const store::Reader& store, const LineRequest& request,
            const query::SeriesRecords& records, query::Range range)
      : store_(store), request_(request), records_(records) {
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
        most += std::min(static_cast<std::uint64_t>(records.at(id).points),
                         std::uint64_t{2} * codec::kBucketPoints * request.width);
    }
    share_ = request.exact ? kExactPoints / series : kAlignedPoints;
    exactness_ = request.exact && most <= kExactPoints ? query::Exactness::kExact
                                                       : query::Exactness::kAligned;
  }

  // A line of at most query::kSeriesAtOnce series.
  Result<Line> small(store::PointView& view, const LineQuestion& question) {
    Line line;
    line.kind = question.kind;
    const std::vector<query::SeriesInput> inputs = make_inputs(question, line);
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
    const Members all = TRY(read_members(question, line));
    GroupRequest request{.members = all.members,
                         .aggregation = all.aggregation,
                         .repetitions = all.repetitions,
                         .confidence = question.group.confidence,
                         .max_hole = question.group.max_hole};
    if (question.kind == LineKind::kGroup) {
      write_group(TRY(aggregate_group(request)), line);
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

  Result<Members> read_members(const LineQuestion& question, Line& line) {
    const std::vector<store::Series> infos = TRY(alike(question));
    Members all;
    all.series = TRY(resample_all(make_inputs(question, line)));
    const bool wanted = question.kind == LineKind::kGroup && !question.group.repetitions;
    const Ownership ownership = TRY(find_ownership(store_, infos, wanted && all.series.size() > 1));
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
    line.arrays = {std::move(values), group.mean, baseline.mean, to_doubles(group.n),
                   to_doubles(baseline.n)};
  }

  static std::vector<double> to_doubles(const std::vector<std::uint32_t>& counts) {
    return {counts.begin(), counts.end()};
  }

  [[nodiscard]] std::vector<query::SeriesInput> make_inputs(const LineQuestion& question,
                                                            Line& line) const {
    std::vector<query::SeriesInput> inputs;
    const std::size_t split = question.series.size() - question.baseline;
    for (std::size_t i = 0; i < question.series.size(); ++i) {
      query::SeriesInput input = query::input_from(records_.at(question.series[i]), question.mode);
      if (!question.origins.empty()) input.origin = question.origins[i];
      const bool second = question.kind == LineKind::kGroup     ? false
                          : question.kind == LineKind::kCompare ? i >= split
                                                                : i > 0;
      if (input.channel == store::Channel::kRate)
        line.rate |= static_cast<std::uint8_t>(second ? 2U : 1U);
      inputs.push_back(input);
    }
    return inputs;
  }

  // A group is of one kind of thing.
  Result<std::vector<store::Series>> alike(const LineQuestion& question) const {
    std::vector<store::Series> infos;
    for (const SeriesId id : question.series) infos.push_back(records_.at(id));
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
    const auto read = [&](store::PointView& view, std::size_t i) -> Result<> {
      auto one = TRY(query::resample(view, resampling({inputs[i]})));
      all.push_back(std::move(one.front()));
      return {};
    };
    TRY(query::view_each(store_, inputs, read));
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
    query::IntegralOptions options{
        .rule = question.rule.value_or(query::usual_rule(inputs.front().channel)),
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
    Ratio ratio = TRY(make_ratio(all[0], all[1]));
    line.exact = ratio.exact;
    line.zero_denominators = ratio.zero_denominators;
    line.arrays.push_back(std::move(ratio.values));
    return {};
  }

  void write_group(GroupAnswer answer, Line& line) const {
    line.exact = answer.exact;
    line.reason = answer.reason;
    line.units = answer.units;
    line.counted_once = answer.counted_once;
    if (answer.sum.empty()) answer.sum.assign(request_.width, kNone);
    line.arrays = {std::move(answer.mean),           std::move(answer.low),
                   std::move(answer.high),           std::move(answer.deviation),
                   std::move(answer.interval),       std::move(answer.least),
                   std::move(answer.greatest),       to_doubles(answer.n),
                   to_doubles(answer.filled),        std::move(answer.sum),
                   std::move(answer.lower_quartile), std::move(answer.median),
                   std::move(answer.upper_quartile)};
  }

  store::Reader store_;
  const LineRequest& request_;
  const query::SeriesRecords& records_;
  query::AxisGrid grid_;
  std::uint64_t share_ = 0;  // points that one series may take
  query::Exactness exactness_ = query::Exactness::kAligned;
};

// The end of the lines from `first` on that one snapshot holds; adds their series.
std::size_t end_of_lot(const std::vector<LineQuestion>& lines, std::size_t first,
                       std::set<SeriesId>& ids) {
  std::size_t end = first;
  while (end < lines.size() && !is_group(lines[end].kind) &&
         ids.size() + lines[end].series.size() <= query::kSeriesAtOnce) {
    ids.insert(lines[end].series.begin(), lines[end].series.end());
    ++end;
  }
  return end;
}

}  // namespace

Result<Ratio> make_ratio(const query::ResampledSeries& numerator,
                         const query::ResampledSeries& denominator) {
  const std::size_t columns = numerator.cells.size();
  if (columns != denominator.cells.size()) {
    return fail(Code::kInvalidArgument,
                fmt::format("a ratio needs two series on one grid, got {} and {} columns", columns,
                            denominator.cells.size()));
  }
  Ratio ratio;
  ratio.values.assign(columns, kNone);
  ratio.exact = numerator.exact && denominator.exact;
  for (std::size_t i = 0; i < columns; ++i) {
    const query::Cell& above = numerator.cells[i];
    const query::Cell& below = denominator.cells[i];
    if ((above.count > 0) != (below.count > 0)) ++ratio.only_one;
    if (above.count == 0 || below.count == 0) continue;
    if (below.mean() == 0) {
      ++ratio.zero_denominators;
      continue;
    }
    const double value = above.mean() / below.mean();
    if (!std::isfinite(value)) continue;
    ratio.values[i] = value;
    ++ratio.columns;
  }
  return ratio;
}

Result<Lines> make_lines(const store::Reader& store, const LineRequest& request) {
  TRY(check(request));
  std::vector<SeriesId> all;
  for (const LineQuestion& line : request.lines)
    all.insert(all.end(), line.series.begin(), line.series.end());
  const auto records = TRY(query::read_series(store, std::move(all)));
  const query::Range range = TRY(choose_range(store, request, records));
  Lines answer{.axis = request.axis,
               .from = range.from,
               .to = range.to,
               .width = request.width,
               .lines = {}};
  LineMaker maker(store, request, records, range);
  for (std::size_t i = 0; i < request.lines.size();) {
    if (is_group(request.lines[i].kind)) {
      answer.lines.push_back(TRY(maker.group(request.lines[i++])));
      continue;
    }
    std::set<SeriesId> ids;
    const std::size_t end = end_of_lot(request.lines, i, ids);
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
