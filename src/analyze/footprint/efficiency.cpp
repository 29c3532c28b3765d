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

// A line of the profile card, with the metrics that tell it: the best evidence first.
struct ProfileLine {
  std::string_view name, unit;
  bool peak = false;
  std::array<std::string_view, 3> metrics;
};
constexpr auto kDeviceProfile = std::to_array<ProfileLine>(
    {{"gpu_memory_peak",
      "B",
      true,
      {"run.gpu.memory.used", "host.gpu.mig.memory.used", "host.gpu.memory.used"}},
     {"sm_active", "share", false, {"host.gpu.mig.sm.active", "host.gpu.sm.active"}},
     {"sm_occupancy", "share", false, {"host.gpu.mig.sm.occupancy", "host.gpu.sm.occupancy"}},
     {"dram_active", "share", false, {"host.gpu.mig.dram.active", "host.gpu.dram.active"}},
     {"pcie_sent", "B/s", false, {"host.gpu.pcie.tx", "host.gpu.pcie.tx_rate"}},
     {"pcie_received", "B/s", false, {"host.gpu.pcie.rx", "host.gpu.pcie.rx_rate"}}});

ProfileValue profile_of_device(const FootprintData& data, const ProfileLine& line,
                               const std::string& source) {
  ProfileValue found{
      .name = std::string(line.name), .source = source, .unit = std::string(line.unit)};
  for (const std::string_view metric : line.metrics) {
    const MetricMean* mean = metric.empty() ? nullptr : data.means.of_source(metric, source);
    if (mean == nullptr) continue;
    found.metric = metric;
    found.value = line.peak ? mean->most : mean->mean;
    return found;
  }
  // The metric of whole devices is the one that a reason is known of.
  const bool instance = whole_device(source) != source;
  const auto last = std::ranges::find_if(line.metrics.rbegin(), line.metrics.rend(),
                                         [](std::string_view metric) { return !metric.empty(); });
  found.reason = data.means.why_not(instance ? line.metrics.front() : *last);
  return found;
}

std::vector<ProfileValue> make_profile(const FootprintData& data, const Efficiency& found) {
  std::vector<ProfileValue> profile;
  for (const DeviceUse& device : found.devices)
    for (const ProfileLine& line : kDeviceProfile)
      profile.push_back(profile_of_device(data, line, device.source));
  if (found.devices.empty())
    for (const ProfileLine& line : kDeviceProfile)
      profile.push_back({.name = std::string(line.name),
                         .source = {},
                         .unit = std::string(line.unit),
                         .reason = "no GPU is known to be the run's"});
  ProfileValue cpus{.name = "cpus_used", .source = {}, .unit = "cores", .metric = "run.cpu.used"};
  cpus.value = found.cpus_used;
  ProfileValue memory{.name = "memory_peak", .source = {}, .unit = "B"};
  memory.metric = found.memory_metric;
  memory.value = found.memory_peak;
  if (!cpus.value) cpus.reason = data.means.why_not(cpus.metric);
  if (!memory.value) memory.reason = data.means.why_not("run.memory.rss");
  profile.push_back(std::move(cpus));
  profile.push_back(std::move(memory));
  return profile;
}

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

std::span<const std::string_view> profile_metrics() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const ProfileLine& line : kDeviceProfile)
      for (const std::string_view metric : line.metrics)
        if (!metric.empty()) all.push_back(metric);
    return all;
  }();
  return names;
}

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
  found.profile = make_profile(data, found);
  return found;
}

}  // namespace corral::analyze
