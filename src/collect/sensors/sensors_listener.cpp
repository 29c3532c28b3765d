#include "collect/sensors/sensors_listener.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/sysfs/number_file.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::collect {
namespace sensors {
namespace {

namespace fs = std::filesystem;
using sysfs::NumberFile;
using sysfs::read_text;

constexpr std::size_t kMostSensors = 64;  // most sensors of one chip
constexpr std::size_t kMostFrequencies = 64;

// Recorded by the listeners of their devices, or not to be woken up.
constexpr auto kLeftOut = std::to_array<std::string_view>(
    {"amdgpu", "radeon", "nouveau", "i915", "xe", "ina3221", "drivetemp"});

struct Kind {
  std::string_view prefix, suffix, metric;
  double scale;
};
constexpr auto kKinds = std::to_array<Kind>({
    {"temp", "_input", "host.temperature", 1e-3},
    {"fan", "_input", "host.fan", 1},
    {"power", "_average", "host.power.sensor", 1e-6},
    {"power", "_input", "host.power.sensor", 1e-6},
});

// "temp1" of "temp1_input"; empty when the file is not of that kind.
std::string sensor_name(const std::string& file, const Kind& kind) {
  if (!file.starts_with(kind.prefix) || !file.ends_with(kind.suffix)) return {};
  std::string sensor = file.substr(0, file.size() - kind.suffix.size());
  return parse_int(std::string_view(sensor).substr(kind.prefix.size())) ? sensor : std::string();
}

std::string device_name(const fs::path& directory) {
  std::error_code failed;
  const fs::path target = fs::read_symlink(directory / "device", failed);
  return failed ? directory.filename().string() : target.filename().string();
}

bool is_core(std::string_view label) { return label.starts_with("Core "); }

fs::path cpu_directory(const fs::path& root) { return root / "sys/devices/system/cpu"; }

// A chip of /sys/class/hwmon.
struct Chip {
  std::string name;    // "coretemp", with its device where several have that name
  std::string driver;  // "coretemp"
  std::filesystem::path directory;
};

std::vector<Chip> hwmon_chips(const fs::path& root) {
  const fs::path hwmon = root / "sys/class/hwmon";
  std::vector<Chip> chips;
  for (const std::string& entry : sysfs::numbered_entries(hwmon, "hwmon")) {
    const std::string name = read_text(hwmon / entry / "name");
    if (name.empty() || std::ranges::find(kLeftOut, name) != kLeftOut.end()) continue;
    chips.push_back({.name = name, .driver = name, .directory = hwmon / entry});
  }
  for (Chip& chip : chips) {
    if (std::ranges::count(chips, chip.driver, &Chip::driver) > 1)
      chip.name += " " + device_name(chip.directory);
  }
  return chips;
}

// "coretemp Package id 0": the chip with the sensor's label, or its file's name without one.
std::string sensor_source(const Chip& chip, const std::string& sensor) {
  const std::string label = read_text(chip.directory / (sensor + "_label"));
  return to_utf8(chip.name + " " + (label.empty() ? sensor : label));
}

class HardwareMonitor {
 public:
  HardwareMonitor(const std::filesystem::path& root, SeriesTable& table) {
    const std::vector<Chip> chips = hwmon_chips(root);
    for (const Chip& chip : chips) open_chip(chip, table);
    open_thermal_zones(root, chips, table);
  }

  void sample(Row& row) const { files_.sample(kSlowGroup, row); }
  [[nodiscard]] bool empty() const { return files_.empty(); }

 private:
  void open_chip(const Chip& chip, SeriesTable& table) {
    const std::vector<std::string> entries = sys::list_directory(chip.directory);
    // The package's own sensor shows its hottest core.
    const bool has_package = std::ranges::any_of(entries, [&](const std::string& entry) {
      return entry.ends_with("_label") && read_text(chip.directory / entry).starts_with("Package");
    });
    std::set<std::string> taken;
    for (const Kind& kind : kKinds) {
      for (const std::string& entry : entries) {
        const std::string sensor = sensor_name(entry, kind);
        if (sensor.empty() || taken.contains(sensor) || taken.size() == kMostSensors) continue;
        if (has_package && is_core(read_text(chip.directory / (sensor + "_label")))) continue;
        taken.insert(sensor);  // a power meter's mean is preferred to its latest value
        files_.add_if_there({.metric = kind.metric,
                             .source = sensor_source(chip, sensor),
                             .path = chip.directory / entry,
                             .scale = kind.scale},
                            table);
      }
    }
  }

  // A zone that hwmon shows too has the chip's name with "_" for "-".
  void open_thermal_zones(const std::filesystem::path& root, const std::vector<Chip>& chips,
                          SeriesTable& table) {
    const fs::path thermal = root / "sys/class/thermal";
    for (const std::string& entry : sysfs::numbered_entries(thermal, "thermal_zone")) {
      std::string type = read_text(thermal / entry / "type");
      std::string chip_name = type;
      std::ranges::replace(chip_name, '-', '_');
      if (type == "x86_pkg_temp") chip_name = "coretemp";
      if (type.empty() || std::ranges::find(chips, chip_name, &Chip::driver) != chips.end())
        continue;
      files_.add_if_there({.metric = "host.temperature",
                           .source = to_utf8(type),
                           .path = thermal / entry / "temp",
                           .scale = 1e-3},
                          table);
    }
  }

  sysfs::NumberFiles files_;
};

// The frequencies that the CPUs run at now: mean, least and greatest over at most 64 CPUs, spread
// evenly where there are more.
class Frequencies {
 public:
  Frequencies(const std::filesystem::path& root, SeriesTable& table) {
    const std::vector<std::string> cpus = sysfs::numbered_entries(cpu_directory(root), "cpu");
    const std::size_t step = (cpus.size() + kMostFrequencies - 1) / kMostFrequencies;
    for (std::size_t i = 0; i < cpus.size(); i += step) {
      auto file = NumberFile::open(cpu_directory(root) / cpus[i] / "cpufreq/scaling_cur_freq");
      if (file) files_.push_back(*std::move(file));
    }
    if (files_.empty()) {
      table.unavailable("host.cpu.frequency.*",
                        "the kernel shows no cpufreq here; virtual machines usually have none");
      return;
    }
    mean_ = table.add("host.cpu.frequency.mean");
    least_ = table.add("host.cpu.frequency.min");
    greatest_ = table.add("host.cpu.frequency.max");
  }

  void sample(Row& row) const {
    constexpr double kHertz = 1e3;  // the files hold kHz
    double sum = 0;
    double least = 0;
    double greatest = 0;
    int count = 0;
    for (const NumberFile& file : files_) {
      const auto value = file.read();
      if (!value) continue;  // a CPU that is offline now
      sum += *value;
      least = count == 0 ? *value : std::min(least, *value);
      greatest = std::max(greatest, *value);
      ++count;
    }
    if (count == 0) return;
    row.set(mean_, sum / count * kHertz);
    row.set(least_, least * kHertz);
    row.set(greatest_, greatest * kHertz);
  }

  [[nodiscard]] bool empty() const { return files_.empty(); }

 private:
  std::vector<sysfs::NumberFile> files_;
  Column mean_ = kNoColumn, least_ = kNoColumn, greatest_ = kNoColumn;
};

// Times that the processor made itself slower because it was hot. The kernel counts for each CPU;
// threads of one core repeat their core's count, and CPUs of one package repeat the package's.
class ThermalThrottles {
 public:
  ThermalThrottles(const std::filesystem::path& root, SeriesTable& table) {
    struct ThrottleFile {
      std::string_view file, metric;
      bool package;
      double scale;
    };
    constexpr auto kFiles = std::to_array<ThrottleFile>({
        {"core_throttle_count", "host.cpu.throttles.core", false, 1},
        {"package_throttle_count", "host.cpu.throttles.package", true, 1},
        {"package_throttle_total_time_ms", "host.cpu.throttled.package", true, 1e-3},
    });
    for (const ThrottleFile& throttle : kFiles) {
      Sum sum{.files = {}, .column = kNoColumn, .scale = throttle.scale};
      std::set<std::string> seen;
      for (const std::string& cpu : sysfs::numbered_entries(cpu_directory(root), "cpu")) {
        const fs::path directory = cpu_directory(root) / cpu;
        std::string thing = read_text(directory / "topology/physical_package_id");
        if (!throttle.package) thing += " " + read_text(directory / "topology/core_id");
        if (seen.contains(thing)) continue;
        auto file = NumberFile::open(directory / "thermal_throttle" / throttle.file);
        if (!file) continue;
        seen.insert(std::move(thing));
        sum.files.push_back(*std::move(file));
      }
      if (sum.files.empty()) continue;
      sum.column = table.add(throttle.metric);
      sums_.push_back(std::move(sum));
    }
    if (sums_.empty()) {
      table.unavailable("host.cpu.throttles.*",
                        "the kernel counts no thermal throttling here (only on Intel's processors, "
                        "and not in virtual machines)");
    }
  }

  void sample(Row& row) const {
    for (const Sum& sum : sums_) {
      double total = 0;
      bool whole = true;  // part of a sum would look like a counter that fell
      for (const NumberFile& file : sum.files) {
        const auto value = file.read();
        whole = whole && value.has_value();
        total += value.value_or(0);
      }
      if (whole) row.set(sum.column, total * sum.scale);
    }
  }

  [[nodiscard]] bool empty() const { return sums_.empty(); }

 private:
  struct Sum {
    std::vector<sysfs::NumberFile> files;
    Column column;
    double scale;
  };
  std::vector<Sum> sums_;
};

class SensorsListener final : public Listener {
 public:
  SensorsListener(const std::filesystem::path& root, SeriesTable& table)
      : monitor_(root, table), frequencies_(root, table), throttles_(root, table) {
    if (monitor_.empty()) {
      table.unavailable("host.temperature, host.fan, host.power.sensor",
                        "no sensor in /sys/class/hwmon or /sys/class/thermal; "
                        "virtual machines usually have none");
    }
  }

  void sample_fast(Row&) override {}
  void sample_slow(Row& row) override {
    monitor_.sample(row);
    frequencies_.sample(row);
    throttles_.sample(row);
  }
  [[nodiscard]] bool empty() const {
    return monitor_.empty() && frequencies_.empty() && throttles_.empty();
  }

 private:
  HardwareMonitor monitor_;
  Frequencies frequencies_;
  ThermalThrottles throttles_;
};

}  // namespace
}  // namespace sensors

std::unique_ptr<Listener> open_sensors_listener(const ListenerContext& context,
                                                SeriesTable& table) {
  auto listener = std::make_unique<sensors::SensorsListener>(context.root, table);
  if (listener->empty()) return nullptr;
  return listener;
}

}  // namespace corral::collect
