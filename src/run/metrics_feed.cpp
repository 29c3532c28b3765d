#include "run/metrics_feed.h"

#include <algorithm>

namespace corral::run {

MetricsFeed::MetricsFeed(collect::Sampler& sampler) : sampler_(sampler) {
  std::uint32_t next = 1;
  for (int g = 0; g < collect::Sampler::group_count(); ++g) {
    auto& columns = columns_.emplace_back(sampler.series(g).size());
    auto& group = groups_.emplace_back();
    for (Column& column : columns) {
      column.id = next++;
      group.columns.push_back({.series = column.id, .present = {}, .values = {}});
    }
  }
}

void MetricsFeed::add(const collect::Sampler::RowView& row) {
  codec::SampleGroup& group = groups_[static_cast<std::size_t>(row.group)];
  group.times.push_back(row.time);
  for (std::size_t c = 0; c < group.columns.size(); ++c) {
    const bool present = row.present[c] != 0;
    group.columns[c].present.push_back(present);
    if (present) group.columns[c].values.push_back(row.values[c]);
  }
}

void MetricsFeed::flush(spool::Journal& journal) {
  sampler_.drain([this](const collect::Sampler::RowView& row) { add(row); });
  codec::SchemaBody schema;
  codec::SamplesBody samples;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].times.empty()) continue;
    const auto series = sampler_.series(static_cast<int>(g));
    codec::SampleGroup out{.times = std::move(groups_[g].times), .steps = {}, .columns = {}};
    for (std::size_t c = 0; c < columns_[g].size(); ++c) {
      codec::Column& column = groups_[g].columns[c];
      if (!column.values.empty()) {
        if (!columns_[g][c].declared) {
          const metric::Metric& m = *series[c].metric;
          schema.series.push_back({.id = column.series,
                                   .owner = m.owner,
                                   .kind = m.kind,
                                   .aggregation = m.aggregation,
                                   .name = std::string(m.name),
                                   .source = series[c].source,
                                   .unit = std::string(m.unit)});
          columns_[g][c].declared = true;
        }
        if (std::ranges::all_of(column.present, [](bool p) { return p; })) column.present.clear();
        out.columns.push_back({.series = column.series,
                               .present = std::move(column.present),
                               .values = std::move(column.values)});
      }
      column.present.clear();
      column.values.clear();
    }
    groups_[g].times.clear();
    if (!out.columns.empty()) samples.groups.push_back(std::move(out));
  }
  codec::Bundle bundle;
  bundle.add(schema);
  bundle.add(samples);
  journal.bundle(bundle);
}

}  // namespace corral::run
