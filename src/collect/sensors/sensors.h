// The readers of listener "sensors" below /sys: temperatures, fans and power meters (hwmon, thermal
// zones), CPU frequencies (cpufreq) and thermal throttling.
//
// Each declares its series at open, after a first read; all are slow, because a sensor may sit
// behind a slow bus. GPUs are left to their own listeners. Drives are left alone too where asking
// could keep them from sleeping (drivetemp).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "collect/series.h"
#include "collect/sysfs/number_file.h"

namespace corral::collect::sensors {

// A chip of /sys/class/hwmon.
struct Chip {
  std::string name;    // "coretemp", with its device where several have that name
  std::string driver;  // "coretemp"
  std::filesystem::path directory;
};
std::vector<Chip> hwmon_chips(const std::filesystem::path& root);

// "coretemp Package id 0": the chip with the sensor's label, or its file's name without one.
std::string sensor_source(const Chip& chip, const std::string& sensor);

class HardwareMonitor {
 public:
  HardwareMonitor(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row) const { files_.sample(kSlowGroup, row); }
  [[nodiscard]] bool empty() const { return files_.empty(); }

 private:
  void open_chip(const Chip& chip, SeriesTable& table);
  void open_thermal_zones(const std::filesystem::path& root, const std::vector<Chip>& chips,
                          SeriesTable& table);

  sysfs::NumberFiles files_;
};

// The frequencies that the CPUs run at now: mean, least and greatest over at most 64 CPUs, spread
// evenly where there are more.
class Frequencies {
 public:
  Frequencies(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row) const;
  [[nodiscard]] bool empty() const { return files_.empty(); }

 private:
  std::vector<sysfs::NumberFile> files_;
  Column mean_ = kNoColumn, least_ = kNoColumn, greatest_ = kNoColumn;
};

// Times that the processor made itself slower because it was hot. The kernel counts for each CPU;
// threads of one core repeat their core's count, and CPUs of one package repeat the package's.
class ThermalThrottles {
 public:
  ThermalThrottles(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row) const;
  [[nodiscard]] bool empty() const { return sums_.empty(); }

 private:
  struct Sum {
    std::vector<sysfs::NumberFile> files;
    Column column;
    double scale;
  };
  std::vector<Sum> sums_;
};

}  // namespace corral::collect::sensors
