#include "run/metrics_feed.h"

#include <algorithm>
#include <utility>

namespace corral::run {

MetricsFeed::MetricsFeed(std::span<const std::unique_ptr<collect::Sampler>> samplers,
                         SeriesIds& ids)
    : ids_(ids) {
  for (const auto& sampler : samplers)
    parts_.push_back({.sampler = sampler.get(), .columns = {}, .groups = {}});
}

void MetricsFeed::number(Part& part) {
  for (int g = 0; g < collect::Sampler::group_count(); ++g) {
    auto& columns = part.columns.emplace_back(part.sampler->series(g).size());
    auto& group = part.groups.emplace_back();
    for (Column& column : columns) {
      column.id = ids_.next++;
      group.columns.push_back({.series = column.id, .present = {}, .values = {}});
    }
  }
}

void MetricsFeed::add(Part& part, const collect::Sampler::RowView& row) {
  codec::SampleGroup& group = part.groups[static_cast<std::size_t>(row.group)];
  group.times.push_back(row.time);
  for (std::size_t c = 0; c < group.columns.size(); ++c) {
    const bool present = row.present[c] != 0;
    group.columns[c].present.push_back(present);
    if (present) group.columns[c].values.push_back(row.values[c]);
  }
}

void MetricsFeed::take(Part& part, std::size_t group, codec::SchemaBody& schema,
                       codec::SamplesBody& samples) {
  codec::SampleGroup& rows = part.groups[group];
  if (rows.times.empty()) return;
  const auto series = part.sampler->series(static_cast<int>(group));
  codec::SampleGroup out{.times = std::exchange(rows.times, {}), .steps = {}, .columns = {}};
  for (std::size_t c = 0; c < series.size(); ++c) {
    codec::Column& column = rows.columns[c];
    if (!column.values.empty()) {
      if (!std::exchange(part.columns[group][c].declared, true)) {
        const metric::Metric& m = *series[c].metric;
        schema.series.push_back({.id = column.series,
                                 .owner = m.owner,
                                 .kind = m.kind,
                                 .aggregation = m.aggregation,
                                 .name = std::string(m.name),
                                 .source = series[c].source,
                                 .unit = std::string(m.unit)});
      }
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

void MetricsFeed::flush(spool::Journal& journal) {
  codec::SchemaBody schema;
  codec::SamplesBody samples;
  for (Part& part : parts_) {
    if (!part.sampler->opened()) continue;
    if (part.columns.empty()) number(part);
    part.sampler->drain([&part](const collect::Sampler::RowView& row) { add(part, row); });
    for (std::size_t g = 0; g < part.groups.size(); ++g) take(part, g, schema, samples);
  }
  codec::Bundle bundle;
  bundle.add(schema);
  bundle.add(samples);
  journal.bundle(bundle);
}

}  // namespace corral::run
