// Split: a run's part of the devices and packages that it shares with others. Always modelled.
//
// A device's energy goes by the use of its SMs, column by column; a MIG device's by its instances'
// activity times their slices. A package's power above idle goes by CPU time, its idle power by the
// CPUs that the runs may use. A part that cannot be split stays whole and says why. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/footprint/energy.h"
#include "analyze/footprint/footprint_data.h"

namespace corral::analyze {

// A user of a shared device: a run, or a MIG instance. By column.
struct DeviceUser {
  bool mine = false;
  double size = 1;  // its weight where nobody did anything: slices of an instance
  std::vector<bool> present;
  std::vector<std::optional<double>> use = {};  // nullopt: not known, and all count by their size
};
// This run's share of the device in each column: by use, else by size; all of it when alone.
std::vector<double> device_shares(std::span<const DeviceUser> users);
// `share` by column, 0 to 1.
EnergySplit split_by(const EnergyPart& part, std::span<const double> share, std::string by);

// CPU time over the columns, for split_by_cpu_time().
struct CpuUse {
  const ColumnSeries* run = nullptr;   // run.cpu.used
  const ColumnSeries* host = nullptr;  // host.cpu.busy
  std::vector<double> allocated;       // the run's part of the host's CPUs, by column
};
// Power beyond `idle_w` goes by CPU time, idle power by allocation.
EnergySplit split_by_cpu_time(const EnergyPart& part, const CpuUse& use, double idle_w);

// Splits the parts that the run shares, as far as the data allow it.
void split_energy(const FootprintData& data, std::vector<EnergyPart>& parts);

}  // namespace corral::analyze
