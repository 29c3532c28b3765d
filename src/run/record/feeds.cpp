#include "run/record/feeds.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "core/limits.h"
#include "core/sha256.h"
#include "core/text.h"
#include "metric/catalogue.h"
#include "run/set_up/fact.h"

namespace corral::run {
namespace {

// A source that is too long keeps its beginning and gets a hash, so that no two become one.
std::string below(const std::string& label, const std::string& source) {
  if (source.empty()) return label;
  std::string text = label + "/" + source;
  if (text.size() <= limits::kNameBytes) return text;
  const std::string hash = "…" + hex(sha256(text), 8);
  text.resize(utf8_prefix(std::string_view(text).substr(0, limits::kNameBytes - hash.size())));
  return text + hash;
}

void set_label(const SeriesIds& ids, codec::SchemaBody& schema) {
  if (ids.label.empty()) return;
  for (codec::SeriesDef& series : schema.series) {
    if (series.owner == metric::Owner::kRun) series.source = below(ids.label, series.source);
    if (series.owner == metric::Owner::kWorkload) series.source = below(ids.host, series.source);
  }
}

// `watch`: nullptr, or shown what is written.
void write(codec::SchemaBody schema, const codec::SamplesBody& samples, const SeriesIds& ids,
           ProgressWatch* watch, spool::Journal& journal) {
  set_label(ids, schema);
  if (watch != nullptr) watch->samples(schema, samples);
  codec::Bundle bundle;
  bundle.add(schema);
  bundle.add(samples);
  journal.bundle(bundle);
}

}  // namespace

MetricsFeed::MetricsFeed(std::span<const std::unique_ptr<collect::Sampler>> samplers,
                         SeriesIds& ids)
    : ids_(ids) {
  for (const auto& sampler : samplers)
    parts_.push_back({.sampler = sampler.get(), .columns = {}, .groups = {}, .timed = {}});
}

std::vector<MetricsFeed::Column>& MetricsFeed::number_group(Part& part, int group) {
  auto& columns = part.columns.emplace_back();
  for (const collect::SeriesInfo& series : part.sampler->series(group)) {
    columns.push_back(
        {.id = ids_.next++, .declared = false, .range = metric::plausible_range(*series.metric)});
  }
  return columns;
}

void MetricsFeed::number(Part& part) {
  for (int g = 0; g < collect::Sampler::group_count(); ++g) {
    auto& group = part.groups.emplace_back();
    for (const Column& column : number_group(part, g))
      group.columns.push_back({.series = column.id, .present = {}, .values = {}});
  }
  for (const Column& column : number_group(part, collect::kTimedGroup)) {
    part.timed.emplace_back().columns.push_back({.series = column.id, .present = {}, .values = {}});
  }
}

void MetricsFeed::add(Part& part, const collect::Sampler::RowView& row) {
  codec::SampleGroup& group = part.groups[static_cast<std::size_t>(row.group)];
  const auto& columns = part.columns[static_cast<std::size_t>(row.group)];
  group.times.push_back(row.time);
  for (std::size_t c = 0; c < group.columns.size(); ++c) {
    const bool present = row.present[c] != 0;
    group.columns[c].present.push_back(present);
    if (!present) continue;
    group.columns[c].values.push_back(row.values[c]);
    if (!columns[c].range.holds(row.values[c])) [[unlikely]]
      strays_.add(part.sampler->series(row.group)[c], row.values[c]);
  }
}

void MetricsFeed::add(Part& part, const collect::TimedPoint& point) {
  codec::SampleGroup& group = part.timed[point.column];
  group.times.push_back(point.time);
  group.columns.front().values.push_back(point.value);
  if (!part.columns[collect::kTimedGroup][point.column].range.holds(point.value)) [[unlikely]]
    strays_.add(part.sampler->series(collect::kTimedGroup)[point.column], point.value);
}

void MetricsFeed::declare(Part& part, int group, std::size_t column, codec::SchemaBody& schema) {
  Column& its = part.columns[static_cast<std::size_t>(group)][column];
  if (std::exchange(its.declared, true)) return;
  const collect::SeriesInfo& series = part.sampler->series(group)[column];
  const metric::Metric& m = *series.metric;
  schema.series.push_back({.id = its.id,
                           .owner = m.owner,
                           .kind = m.kind,
                           .aggregation = m.aggregation,
                           .name = std::string(m.name),
                           .source = series.source,
                           .unit = std::string(m.unit)});
}

void MetricsFeed::move_rows(Part& part, std::size_t group, codec::SchemaBody& schema,
                            codec::SamplesBody& samples) {
  codec::SampleGroup& rows = part.groups[group];
  if (rows.times.empty()) return;
  codec::SampleGroup out{.times = std::exchange(rows.times, {}), .steps = {}, .columns = {}};
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    codec::Column& column = rows.columns[c];
    if (!column.values.empty()) {
      declare(part, static_cast<int>(group), c, schema);
      if (std::ranges::all_of(column.present, [](bool p) { return p; })) column.present.clear();
      out.columns.push_back({.series = column.series,
                             .present = std::move(column.present),
                             .values = std::move(column.values)});
    }
    column.present.clear();
    column.values.clear();
  }
  if (!out.columns.empty()) samples.groups.push_back(std::move(out));
}

void MetricsFeed::move_timed_points(Part& part, codec::SchemaBody& schema,
                                    codec::SamplesBody& samples) {
  for (std::size_t c = 0; c < part.timed.size(); ++c) {
    codec::SampleGroup& points = part.timed[c];
    if (points.times.empty()) continue;
    declare(part, collect::kTimedGroup, c, schema);
    samples.groups.push_back(points);
    points.times.clear();
    points.columns.front().values.clear();
  }
}

void MetricsFeed::flush(spool::Journal& journal) {
  codec::SchemaBody schema;
  codec::SamplesBody samples;
  for (Part& part : parts_) {
    if (!part.sampler->opened()) continue;
    if (part.columns.empty()) number(part);
    part.sampler->drain([&](const collect::Sampler::RowView& row) { add(part, row); });
    part.sampler->drain_timed([&](const collect::TimedPoint& point) { add(part, point); });
    for (std::size_t g = 0; g < part.groups.size(); ++g) move_rows(part, g, schema, samples);
    move_timed_points(part, schema, samples);
  }
  write(std::move(schema), samples, ids_, watch_, journal);
}

namespace {

using collect::foreign::ForeignPoint;
using collect::foreign::ForeignSeries;
using collect::foreign::PointQueue;
using collect::foreign::SeriesNumber;

// Keeps a frame below its limit: a point takes less than 32 bytes before compression.
constexpr std::size_t kPointsPerFrame = 65536;

// Returns the number of first points that form one row: one time, one step, no series twice.
std::size_t row_length(std::span<const ForeignPoint> points) {
  std::size_t n = 1;
  const auto same_row = [&](const ForeignPoint& point) {
    return point.time == points[0].time && point.step == points[0].step &&
           point.series > points[n - 1].series;
  };
  while (n < points.size() && same_row(points[n])) ++n;
  return n;
}

void add_rows(std::span<const std::size_t> rows, std::span<const ForeignPoint> points,
              codec::SampleGroup& group) {
  for (const std::size_t row : rows) {
    group.times.push_back(points[row].time);
    if (points[row].step) group.steps.push_back(*points[row].step);
  }
}

// Corral's own metrics have names without a source; a foreign series of that name gets one.
std::string foreign_source(const ForeignSeries& series) {
  const bool taken =
      !series.own && series.source.empty() && metric::find_metric(series.name) != nullptr;
  return taken ? "reported" : series.source;
}

}  // namespace

codec::SchemaBody PointFeed::declare(const PointQueue::Drained& drained, bool workload) {
  codec::SchemaBody schema;
  for (const ForeignSeries& series : drained.series) {
    id_of_.push_back(ids_.next++);
    owner_of_.push_back(series.owner);
    auto& list = series.owner == metric::Owner::kRun ? schema.series : undeclared_;
    list.push_back({.id = id_of_.back(),
                    .owner = series.owner,
                    .kind = series.kind,
                    .aggregation = metric::Aggregation::kMean,
                    .name = series.name,
                    .source = foreign_source(series),
                    .unit = series.unit});
  }
  if (workload)
    std::ranges::move(std::exchange(undeclared_, {}), std::back_inserter(schema.series));
  return schema;
}

codec::SamplesBody PointFeed::samples(const std::vector<ForeignPoint>& points) const {
  struct Track {
    std::vector<std::size_t> rows;  // rows by the index of their first point
    std::vector<double> values;
  };
  // In a group, all rows have steps or none has.
  std::map<std::pair<bool, SeriesNumber>, Track> tracks;
  for (std::size_t first = 0; first < points.size();) {
    const auto row = std::span(points).subspan(first);
    const std::size_t length = row_length(row);
    for (const ForeignPoint& point : row.first(length)) {
      Track& track = tracks[{point.step.has_value(), point.series}];
      track.rows.push_back(first);
      track.values.push_back(point.value);
    }
    first += length;
  }
  // Series of the same rows, like those of one endpoint, share a group, which stores the times
  // once. No series is in two groups, which would lose the order of its points.
  std::map<std::pair<bool, std::vector<std::size_t>>, codec::SampleGroup> groups;
  for (auto& [key, track] : tracks) {
    const auto [at, fresh] = groups.try_emplace({key.first, std::move(track.rows)});
    codec::SampleGroup& group = at->second;
    if (fresh) add_rows(at->first.second, points, group);
    group.columns.push_back(
        {.series = id_of_[key.second], .present = {}, .values = std::move(track.values)});
  }
  codec::SamplesBody body;
  for (auto& [key, group] : groups) body.groups.push_back(std::move(group));
  return body;
}

void PointFeed::flush(spool::Journal& journal, bool workload) {
  PointQueue::Drained drained = queue_.drain();
  codec::SchemaBody schema = declare(drained, workload);
  if (!workload) {
    std::erase_if(drained.points, [&](const ForeignPoint& point) {
      return owner_of_[point.series] == metric::Owner::kWorkload;
    });
  }
  for (std::size_t first = 0; first < drained.points.size() || !schema.series.empty();
       first += kPointsPerFrame) {
    const auto begin = drained.points.begin() +
                       static_cast<std::ptrdiff_t>(std::min(first, drained.points.size()));
    const auto count = std::min<std::ptrdiff_t>(drained.points.end() - begin, kPointsPerFrame);
    write(std::exchange(schema, {}), samples({begin, begin + count}), ids_, watch_, journal);
  }
}

namespace {

std::string series_name(const collect::SeriesInfo& series) {
  const std::string metric(series.metric->name);
  return series.source.empty() ? metric : metric + " of " + series.source;
}

std::string series_range(const collect::SeriesInfo& series) {
  return metric::words(metric::plausible_range(*series.metric), *series.metric);
}

}  // namespace

void Strays::add(const collect::SeriesInfo& series, double value) {
  auto at = std::ranges::find(strays_, &series, &Stray::series);
  if (at == strays_.end()) {
    more_ = strays_.size() == kMost;
    if (more_) return;
    strays_.push_back({&series, value, value, value, 0});
    at = strays_.end() - 1;
  }
  ++at->count;
  // NaN is neither less nor greater.
  at->least = std::fmin(at->least, value);
  at->greatest = std::fmax(at->greatest, value);
}

std::vector<Strays::First> Strays::drain_new() {
  std::vector<First> first;
  for (; reported_ < strays_.size(); ++reported_) {
    const Stray& stray = strays_[reported_];
    const auto same_metric = [&](const Stray& other) {
      return other.series->metric == stray.series->metric;
    };
    first.push_back(
        {.text = fmt::format("{} is {:g}, outside {}: such values are stored as read",
                             series_name(*stray.series), stray.first, series_range(*stray.series)),
         .new_metric = std::ranges::none_of(std::span(strays_).first(reported_), same_metric)});
  }
  return first;
}

std::vector<codec::Fact> Strays::facts() const {
  std::vector<codec::Fact> facts;
  for (const Stray& stray : strays_) {
    const std::string text = fmt::format("{} {} outside {}, stored as read: {:g} to {:g}",
                                         stray.count, stray.count == 1 ? "value" : "values",
                                         series_range(*stray.series), stray.least, stray.greatest);
    facts.push_back(set_up::info("outside." + series_name(*stray.series), text));
  }
  if (more_)
    facts.push_back(
        set_up::info("outside.others", "series that are not listed have such values, too"));
  return facts;
}

}  // namespace corral::run
