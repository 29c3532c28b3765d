#include "analyze/footprint/efficiency.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace corral::analyze {
namespace {

// The best evidence first; busy is how often the device was used, not how much of it.
constexpr std::array<std::string_view, 3> kActivity = {"host.gpu.mig.sm.active",
                                                       "host.gpu.sm.active", "host.gpu.busy"};

DeviceUse use_of_device(const FootprintData& data, const std::string& source) {
  DeviceUse use{.source = source, .hours = window_seconds(data.window) / 3600};
  for (const std::string_view metric : kActivity) {
    const ColumnSeries* series = find_columns(data.series, metric, source);
    if (series == nullptr || series->total().covered <= 0) continue;
    use.metric = metric;
    use.activity = series->total().mean();
    double idle = 0;
    for (const query::IntegralCell& cell : series->cells)
      if (cell.covered > 0 && cell.mean() < kIdleActivity) idle += cell.covered;
    use.idle_hours = use.hours * idle / series->total().covered;
    break;
  }
  return use;
}

void find_memory(const FootprintData& data, Efficiency& found) {
  const MetricMean* limit = data.means.greatest("cgroup.memory.limit");
  const MetricMean* in_group = data.means.greatest("cgroup.memory.used");
  if (limit != nullptr && in_group != nullptr) {
    found.memory_limit = limit->least;
    found.memory_peak = in_group->most;
    found.memory_metric = in_group->metric;
    return;
  }
  const MetricMean* resident = data.means.greatest("run.memory.rss");
  if (resident == nullptr) return;
  found.memory_peak = resident->most;
  found.memory_metric = resident->metric;
  if (data.host_memory > 0) found.memory_limit = data.host_memory;
}

}  // namespace

std::string whole_device(const std::string& source) {
  return source.substr(0, source.find(".mig"));
}

std::vector<std::string> devices_of_run(const FootprintData& data) {
  std::set<std::string> sources;
  for (const GivenDevice& device : data.devices) sources.insert(device.source);
  for (const ColumnSeries& series : data.series)
    if (series.metric == "run.gpu.processes" && series.total().integral > 0)
      sources.insert(series.source);
  // An instance is not the rest of its device.
  std::set<std::string> cut;
  for (const std::string& source : sources)
    if (whole_device(source) != source) cut.insert(whole_device(source));
  for (const std::string& device : cut) sources.erase(device);
  return {sources.begin(), sources.end()};
}

Efficiency find_efficiency(const FootprintData& data) {
  Efficiency found;
  for (const std::string& source : devices_of_run(data))
    found.devices.push_back(use_of_device(data, source));
  const double cpus = data.cpus > 0 ? data.cpus : data.host_cpus;
  if (cpus > 0) found.cpus_allowed = cpus;
  if (const MetricMean* quota = data.means.greatest("cgroup.cpu.limit");
      quota != nullptr && quota->mean > 0)
    found.cpus_allowed = std::min(found.cpus_allowed.value_or(quota->mean), quota->mean);
  if (const ColumnSeries* used = find_columns(data.series, "run.cpu.used", "");
      used != nullptr && used->total().covered > 0)
    found.cpus_used = used->total().mean();
  find_memory(data, found);
  return found;
}

}  // namespace corral::analyze
