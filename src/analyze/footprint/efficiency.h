// Efficiency: what a run was given against what it used: device hours, CPUs, memory. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/footprint/footprint_data.h"

namespace corral::analyze {

// A column of the window with a lower mean activity counts as idle.
inline constexpr double kIdleActivity = 0.05;

struct DeviceUse {
  std::string source;
  std::string metric = {};                // empty: no activity was recorded
  double hours = 0;                       // that the run had it
  std::optional<double> activity = {};    // mean, 0 to 1
  std::optional<double> idle_hours = {};  // part of `hours`
};

// A value of the profile card: what a collocation manager needs to know of a training.
struct ProfileValue {
  std::string name;    // "sm_active"
  std::string source;  // device or instance; empty: the run
  std::string unit;
  std::string metric = {};
  std::optional<double> value = {};  // peaks: the greatest point; else the mean
  std::string reason = {};           // without a value: why it is not available
};

struct Efficiency {
  std::vector<DeviceUse> devices;
  std::optional<double> cpus_allowed, cpus_used;
  std::optional<double> memory_peak, memory_limit;  // bytes
  std::string memory_metric;                        // that peaked
  std::vector<ProfileValue> profile;                // by device, then the run's
};

// Devices and instances that were given to the run, or that its processes used; by source.
std::vector<std::string> devices_of_run(const FootprintData& data);
// Metrics of the profile card.
std::span<const std::string_view> profile_metrics();
// "gpu0" of "gpu0.mig1" and of "gpu0".
std::string whole_device(const std::string& source);

Efficiency find_efficiency(const FootprintData& data);

}  // namespace corral::analyze
