#include "run/record/metrics_feed.h"

#include <algorithm>
#include <utility>

namespace corral::run {

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

void MetricsFeed::take(Part& part, std::size_t group, codec::SchemaBody& schema,
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

void MetricsFeed::take_timed(Part& part, codec::SchemaBody& schema, codec::SamplesBody& samples) {
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
    for (std::size_t g = 0; g < part.groups.size(); ++g) take(part, g, schema, samples);
    take_timed(part, schema, samples);
  }
  if (watch_ != nullptr) watch_->samples(schema, samples);
  codec::Bundle bundle;
  bundle.add(schema);
  bundle.add(samples);
  journal.bundle(bundle);
}

}  // namespace corral::run
