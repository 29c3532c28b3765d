#include "run/schedule/quiet.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "collect/nvidia/nvml.h"
#include "collect/nvidia/process_room.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::run::schedule {
namespace {

namespace nvidia = collect::nvidia;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kGpuChips = {"amdgpu", "nouveau", "i915", "xe"};
constexpr unsigned kProcesses = 64;

double ticks_per_second() { return static_cast<double>(::sysconf(_SC_CLK_TCK)); }

std::string read_line(const fs::path& path) {
  const auto text = sys::read_file(path, 4096);
  return text ? std::string(trim(*text)) : std::string();
}

// Adds GPUs whose kernel driver reports their temperature.
void add_chips(const fs::path& root, std::vector<QuietReading::Device>& devices) {
  const fs::path chips = root / "sys/class/hwmon";
  for (const std::string& chip : sys::list_directory(chips)) {
    const std::string name = read_line(chips / chip / "name");
    if (std::ranges::find(kGpuChips, name) == kGpuChips.end()) continue;
    const auto value = parse_double(read_line(chips / chip / "temp1_input"));
    if (value)
      devices.push_back({.name = fmt::format("{} {}", name, chip), .celsius = *value / 1e3});
  }
}

}  // namespace

struct QuietProbe::Devices {
  std::shared_ptr<const nvidia::Nvml> nvml;

  void add(std::vector<QuietReading::Device>& devices) const {
    unsigned count = 0;
    if (nvml == nullptr || nvml->call().count(&count) != nvidia::Status::kSuccess) return;
    for (unsigned i = 0; i < count; ++i) {
      nvidia::Device device{};
      if (nvml->call().device(i, &device) != nvidia::Status::kSuccess) continue;
      QuietReading::Device found{.name = fmt::format("GPU {}", i)};
      unsigned celsius = 0;
      if (nvml->call().temperature(device, nvidia::Sensor{}, &celsius) == nvidia::Status::kSuccess)
        found.celsius = celsius;
      nvidia::ProcessRoom processes(kProcesses);
      if (processes.ask(nvml->call().processes, device) == nvidia::Status::kSuccess)
        found.processes = static_cast<int>(processes.count());
      devices.push_back(std::move(found));
    }
  }
};

std::vector<std::string> disturbances(const QuietReading& reading) {
  std::vector<std::string> found;
  // The limit is half a CPU, or one CPU in twenty on a big machine.
  if (reading.busy_cpus > std::max(0.5, 0.05 * reading.cpus))
    found.push_back(
        fmt::format("other processes use {:.1f} of {} CPUs", reading.busy_cpus, reading.cpus));
  for (const QuietReading::Device& device : reading.devices) {
    if (device.celsius > kQuietCelsius)
      found.push_back(fmt::format("{} is {:.0f} C", device.name, device.celsius));
    if (device.processes > 0)
      found.push_back(fmt::format("{} other process{} on {}", device.processes,
                                  device.processes == 1 ? "" : "es", device.name));
  }
  return found;
}

std::int64_t busy_ticks(std::string_view stat) {
  const std::vector<std::string_view> words = split(stat.substr(0, stat.find('\n')), ' ');
  std::vector<std::int64_t> numbers;
  for (const std::string_view word : words)
    if (const auto number = parse_int(word)) numbers.push_back(*number);
  // user nice system idle iowait irq softirq
  if (numbers.size() < 7) return 0;
  return numbers[0] + numbers[2] + numbers[5] + numbers[6];
}

QuietProbe::QuietProbe(fs::path root, std::string nvml)
    : root_(std::move(root)), nvml_(std::move(nvml)) {}
QuietProbe::~QuietProbe() = default;

void QuietProbe::begin(BootTime now) {
  ticks_ = busy_ticks(sys::read_file(root_ / "proc/stat").value_or(""));
  began_ = now;
}

QuietReading QuietProbe::end(BootTime now) {
  QuietReading reading;
  const auto cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  reading.cpus = static_cast<int>(std::max<long>(1, cpus));
  const auto ticks = busy_ticks(sys::read_file(root_ / "proc/stat").value_or("")) - ticks_;
  const double elapsed = std::max(1e-3, seconds(now - began_));
  reading.busy_cpus = static_cast<double>(ticks) / ticks_per_second() / elapsed;
  if (devices_ == nullptr) {
    devices_ = std::make_unique<Devices>();
    if (auto nvml = nvidia::Nvml::open(nvml_)) devices_->nvml = std::move(*nvml);
  }
  devices_->add(reading.devices);
  add_chips(root_, reading.devices);
  return reading;
}

}  // namespace corral::run::schedule
