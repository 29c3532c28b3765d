#include "metric/foreign.h"

#include <array>

#include "core/text.h"

namespace corral::metric {
namespace {

// "*" in a name stands for the device or core. The newer radT puts "system/" in front of its names,
// and once does so twice.
struct Row {
  std::string_view name, unit, alias;
  double factor = 1;
};

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kFreeGb = 1.024e9;    // `free --mega` divided by 1024
constexpr double kTopGb = 1.048576e9;  // MiB divided by 1000

constexpr auto kRows = std::to_array<Row>({
    // radT: nvidia-smi; -1 stands for a missing value.
    {"SMI - Power Draw", "W", "host.gpu.power"},
    {"SMI - Timestamp", "s", ""},
    {"SMI - GPU Util", "share", "host.gpu.busy"},
    {"SMI - Mem Util", "share", "host.gpu.memory.busy"},
    {"SMI - Mem Used", "MiB", "host.gpu.memory.used", kMiB},
    {"SMI - Performance State", "", "host.gpu.performance_state"},
    // radT: dcgmi dmon; 0 may stand for a missing value.
    {"DCGMI - Power Usage", "W", "host.gpu.power"},
    {"DCGMI - Total Energy Consumption", "mJ", ""},
    {"DCGMI - PCIE TX Throughput", "KB/s", ""},
    {"DCGMI - PCIE RX Throughput", "KB/s", ""},
    {"DCGMI - GPU Utilization", "%", "host.gpu.busy", 0.01},
    {"DCGMI - Memory Copy Utilization", "%", "host.gpu.memory.busy", 0.01},
    {"DCGMI - GR Engine Active", "share", "host.gpu.graphics.active"},
    {"DCGMI - SM Active", "share", "host.gpu.sm.active"},
    {"DCGMI - SN Active", "share", "host.gpu.sm.active"},
    {"DCGMI - SM Occupancy", "share", "host.gpu.sm.occupancy"},
    {"DCGMI - Tensor Active", "share", "host.gpu.pipe.tensor"},
    {"DCGMI - DRAM Active", "share", "host.gpu.dram.active"},
    {"DCGMI - FP64 Active", "share", "host.gpu.pipe.fp64"},
    {"DCGMI - FP32 Active", "share", "host.gpu.pipe.fp32"},
    {"DCGMI - FP16 Active", "share", "host.gpu.pipe.fp16"},
    {"DCGMI - PCIE TX Bytes", "B/s", "host.gpu.pcie.tx_rate"},
    {"DCGMI - PCIE RX Bytes", "B/s", "host.gpu.pcie.rx_rate"},
    {"DCGMI - NVlink TX Bytes", "B/s", "host.gpu.nvlink.tx_rate"},
    {"DCGMI - NVlink RX Bytes", "B/s", "host.gpu.nvlink.rx_rate"},
    // radT: top; of processes named python, on the whole host.
    {"TOP - CPU Utilization", "%", ""},
    {"TOP - Memory Utilization", "%", ""},
    {"TOP - Memory Usage GB", "GB", "host.memory.used", kTopGb},
    {"TOP - Swap Memory GB", "GB", "host.swap.used", kTopGb},
    // radT: free.
    {"Free - Mem Total GB", "GB", "host.memory.total", kFreeGb},
    {"Free - Mem Used GB", "GB", "host.memory.used", kFreeGb},
    {"Free - Mem Free GB", "GB", "host.memory.free", kFreeGb},
    {"Free - Mem Shared GB", "GB", "host.memory.shared", kFreeGb},
    {"Free - Mem Buff/Cache GB", "GB", "", kFreeGb},
    {"Free - Mem Available GB", "GB", "host.memory.available", kFreeGb},
    {"Free - Swap Total GB", "GB", "host.swap.total", kFreeGb},
    {"Free - Swap Used GB", "GB", "host.swap.used", kFreeGb},
    {"Free - Swap Free GB", "GB", "", kFreeGb},
    {"Free - Total Total GB", "GB", "", kFreeGb},
    {"Free - Total Used GB", "GB", "", kFreeGb},
    {"Free - Total Free GB", "GB", "", kFreeGb},
    // radT: iostat; totals mix the samples of several devices.
    {"iostat - Total tps", "1/s", ""},
    {"iostat - Total MB read/s", "MiB/s", ""},
    {"iostat - Total MB written/s", "MiB/s", ""},
    {"iostat - Total MB read", "MiB", ""},
    {"iostat - Total MB written", "MiB", ""},
    {"iostat - * - tps", "1/s", ""},
    {"iostat - * - MB read/s", "MiB/s", "host.disk.read", kMiB},
    {"iostat - * - MB written/s", "MiB/s", "host.disk.write", kMiB},
    {"iostat - * - MB read", "MiB", ""},
    {"iostat - * - MB written", "MiB", ""},
    // radT: ps, of the threads that ran last on a core.
    {"PS - CPU *", "%", ""},
    {"PS - MEM *", "%", ""},
    // MLflow's system metrics.
    {"cpu_utilization_percentage", "%", ""},
    {"system_memory_usage_megabytes", "MB", "host.memory.used", 1e6},
    {"system_memory_usage_percentage", "%", ""},
    {"disk_usage_percentage", "%", ""},
    {"disk_usage_megabytes", "MB", ""},
    {"disk_available_megabytes", "MB", ""},
    {"network_receive_megabytes", "MB", ""},
    {"network_transmit_megabytes", "MB", ""},
    {"gpu_*_memory_usage_percentage", "%", ""},
    {"gpu_*_memory_usage_megabytes", "MB", "host.gpu.memory.used", 1e6},
    {"gpu_*_utilization_percentage", "%", "host.gpu.busy", 0.01},
    {"gpu_*_power_usage_watts", "W", "host.gpu.power"},
    {"gpu_*_power_usage_percentage", "%", ""},
});

// Returns the text that stands for "*", empty for a row without one; nothing if the name is
// another.
std::optional<std::string_view> match_star(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos)
    return pattern == name ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) ||
      !name.ends_with(after)) {
    return std::nullopt;
  }
  return name.substr(before.size(), name.size() - before.size() - after.size());
}

}  // namespace

std::optional<Foreign> find_foreign(std::string_view name) {
  constexpr std::string_view kPrefix = "system/";
  // Asked for every series of a run: most names are a script's own, and seen to be at once.
  if (!name.starts_with(kPrefix) && name.find(" - ") == std::string_view::npos) return std::nullopt;
  while (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  for (const Row& row : kRows) {
    if (const auto source = match_star(row.name, name)) {
      return Foreign{.unit = row.unit, .alias = row.alias, .factor = row.factor, .source = *source};
    }
  }
  return std::nullopt;
}

bool name_matches(std::string_view pattern, std::string_view name) {
  if (glob_match(pattern, name)) return true;
  const auto foreign = find_foreign(name);
  if (foreign && !foreign->alias.empty() && glob_match(pattern, foreign->alias)) return true;
  // A name of radT's finds what Corral measured itself.
  const auto meant = find_foreign(pattern);
  return meant && !meant->alias.empty() && meant->alias == name;
}

}  // namespace corral::metric
