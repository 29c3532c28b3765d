#include "collect/nvidia/gpu_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "collect/nvidia/process_room.h"
#include "sys/file.h"

namespace corral::collect::nvidia {
namespace {

// In the order of the driver's numbers.
constexpr auto kComputeModes = std::to_array<std::string_view>(
    {"default", "exclusive thread", "prohibited", "exclusive process"});
constexpr unsigned kMostProcesses = 256;

std::string on_off(unsigned value) { return value != 0 ? "on" : "off"; }

void describe_state(const Nvml& nvml, Device device, const std::string& source,
                    SeriesTable& table) {
  const NvmlFunctions& call = nvml.call();
  unsigned value = 0;
  if (call.temperature(device, Sensor::kGpu, &value) == Status::kSuccess)
    table.describe(source + ".temperature_celsius", std::to_string(value));
  if (call.clock(device, Clock::kSm, &value) == Status::kSuccess)
    table.describe(source + ".sm_mhz", std::to_string(value));
  if (call.clock(device, Clock::kMemory, &value) == Status::kSuccess)
    table.describe(source + ".memory_mhz", std::to_string(value));
  ProcessRoom room(kMostProcesses);
  if (room.ask(call.processes, device) == Status::kSuccess)
    table.describe(source + ".processes", std::to_string(room.count()));
}

// Facts that make measurements differ, those that the driver provides: "gpu0.persistence": "on",
// "gpu0.compute_mode": "default", ...; "at_start.gpu0.processes": "0", ....
void describe_settings(const Nvml& nvml, Device device, const std::string& source,
                       SeriesTable& table) {
  const NvmlFunctions& call = nvml.call();
  unsigned now = 0;
  unsigned pending = 0;
  if (call.persistence(device, &now) == Status::kSuccess)
    table.describe(source + ".persistence", on_off(now));
  if (call.ecc(device, &now, &pending) == Status::kSuccess)
    table.describe(source + ".ecc", on_off(now));
  if (call.compute_mode(device, &now) == Status::kSuccess && now < kComputeModes.size())
    table.describe(source + ".compute_mode", std::string(kComputeModes.at(now)));
  if (call.power_limit(device, &now) == Status::kSuccess)  // mW
    table.describe(source + ".power_limit_watts", std::to_string(now / 1000));
  describe_state(nvml, device, "at_start." + source, table);
}

std::vector<FoundGpu::Instance> find_instances(const Nvml& nvml, Device device) {
  std::vector<FoundGpu::Instance> found;
  unsigned room = 0;
  if (nvml.call().mig_room(device, &room) != Status::kSuccess) return found;
  for (unsigned i = 0; i < room; ++i) {
    FoundGpu::Instance instance{.index = i, .device = nullptr, .uuid = {}, .gpu_instance = {}};
    if (nvml.call().mig_device(device, i, &instance.device) != Status::kSuccess) continue;
    instance.uuid = read_text(nvml.call().uuid, instance.device);
    unsigned id = 0;
    if (nvml.call().gpu_instance(instance.device, &id) == Status::kSuccess) {
      instance.gpu_instance = id;
    }
    found.push_back(std::move(instance));
  }
  return found;
}

FoundGpu describe_gpu(const Nvml& nvml, unsigned index, Device device) {
  FoundGpu gpu{.index = index,
               .device = device,
               .uuid = read_text(nvml.call().uuid, device),
               .mig = false,
               .instances = {}};
  unsigned now = 0;
  unsigned pending = 0;
  gpu.mig = nvml.call().mig_mode(device, &now, &pending) == Status::kSuccess && now == 1;
  if (gpu.mig) gpu.instances = find_instances(nvml, device);
  return gpu;
}

bool is_wanted(const FoundGpu& gpu, const std::vector<std::string>& wanted) {
  const auto listed = [&](const std::string& uuid) {
    return std::ranges::find(wanted, uuid) != wanted.end();
  };
  return wanted.empty() || listed(gpu.uuid) ||
         std::ranges::any_of(gpu.instances, listed, &FoundGpu::Instance::uuid);
}

std::string first_line(const std::filesystem::path& file) {
  const auto text = sys::read_file(file);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

}  // namespace

bool EnergyCheck::Comparison::agrees() const {
  const double larger = std::max(counter_joules, integral_joules);
  return std::abs(counter_joules - integral_joules) <= kTolerance * larger;
}

void EnergyCheck::begin(BootTime now, double watts, double joules) {
  start_ = last_ = now;
  first_joules_ = last_joules_ = joules;
  last_watts_ = watts;
  integral_ = 0;
  begun_ = true;
}

std::optional<EnergyCheck::Comparison> EnergyCheck::add(BootTime now, double watts, double joules) {
  if (std::isnan(watts) || std::isnan(joules)) {
    begun_ = false;
    return std::nullopt;
  }
  if (!begun_ || now - last_ > kLongestGap || joules < last_joules_) {
    begin(now, watts, joules);
    return std::nullopt;
  }
  integral_ += (watts + last_watts_) / 2 * seconds(now - last_);
  last_ = now;
  last_watts_ = watts;
  last_joules_ = joules;
  if (now - start_ < kWindow) return std::nullopt;
  const Comparison window{.counter_joules = joules - first_joules_, .integral_joules = integral_};
  begin(now, watts, joules);
  return window;
}

std::vector<FoundGpu> find_gpus(const Nvml& nvml, const std::vector<std::string>& wanted,
                                SeriesTable& table) {
  std::vector<FoundGpu> found;
  unsigned count = 0;
  const Status counted = nvml.call().count(&count);
  if (counted != Status::kSuccess || count == 0) {
    table.unavailable("host.gpu.*", counted == Status::kSuccess
                                        ? "the NVIDIA driver has no device here"
                                        : nvml.words(counted));
    return found;
  }
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    const Status status = nvml.call().device(i, &device);
    if (status != Status::kSuccess) {
      table.unavailable("host.gpu.*", gpu_source(i), nvml.words(status));
      continue;
    }
    FoundGpu gpu = describe_gpu(nvml, i, device);
    if (is_wanted(gpu, wanted)) found.push_back(std::move(gpu));
  }
  return found;
}

InstanceReader::InstanceReader(const ReaderParts& parts, const FoundGpu& gpu,
                               const FoundGpu::Instance& instance, SeriesTable& table)
    : health_(parts.nvml, parts.news,
              gpu_source(gpu.index) + ".mig" + std::to_string(instance.index)),
      queries_(parts.nvml, instance.device) {
  const std::string& source = health_.source();
  table.describe(source + ".uuid", instance.uuid);
  table.unavailable("power, energy, clocks, temperature and utilization", source,
                    "a MIG instance has none of its own: see " + gpu_source(gpu.index) +
                        ", for all its instances together");
  queries_.open(instance_queries(), parts.meter, {.source = source, .remark = ""}, table);
  if (!instance.gpu_instance) {
    table.unavailable("host.gpu.mig.sm.active and the like", source,
                      "the driver does not say which GPU instance it belongs to");
    return;
  }
  gpm_ =
      std::make_unique<GpmMeter>(parts.nvml, GpmMeter::Target{.device = gpu.device,
                                                              .gpu_instance = instance.gpu_instance,
                                                              .columns = gpm_instance_columns()});
  gpm_->begin(parts.meter);
}

void InstanceReader::declare_units(CallMeter& meter, SeriesTable& table) {
  if (gpm_ != nullptr && !gpm_->declare(meter, health_, table)) gpm_.reset();
}

void InstanceReader::sample_fast(CallMeter& meter, Row& row) {
  queries_.sample(meter, health_, row);
  if (gpm_ != nullptr && !health_.lost()) gpm_->sample(meter, health_, row);
}

GpuReader::GpuReader(const ReaderParts& parts, const FoundGpu& gpu, SeriesTable& table)
    : health_(parts.nvml, parts.news, gpu_source(gpu.index)),
      fast_(parts.nvml, gpu.device),
      slow_(parts.nvml, gpu.device),
      fast_fields_(parts.nvml, gpu.device, Call::kFields, parts.tick),
      slow_fields_(parts.nvml, gpu.device, Call::kSlowFields, parts.tick),
      rings_(parts.nvml, gpu.device, parts.clocks),
      gpm_(std::make_unique<GpmMeter>(
          parts.nvml, GpmMeter::Target{.device = gpu.device, .columns = gpm_columns()})) {
  const std::string& source = health_.source();
  describe(parts, gpu, table);
  const QueryList::Subject subject{.source = source,
                                   .remark = gpu.mig ? "; the device is in MIG mode" : ""};
  fast_.open(fast_queries(), parts.meter, subject, table);
  slow_.open(slow_queries(), parts.meter, subject, table);
  open_fields(parts, subject, table);
  rings_.open(parts.meter, subject, table);
  gpm_->begin(parts.meter);
  for (const FoundGpu::Instance& instance : gpu.instances) {
    instances_.push_back(std::make_unique<InstanceReader>(parts, gpu, instance, table));
  }
}

void GpuReader::declare_units(CallMeter& meter, SeriesTable& table) {
  if (!gpm_->declare(meter, health_, table)) gpm_.reset();
  for (const auto& instance : instances_) instance->declare_units(meter, table);
}

void GpuReader::open_fields(const ReaderParts& parts, const QueryList::Subject& subject,
                            SeriesTable& table) {
  std::vector<FieldBatch::Refused> refused =
      fast_fields_.open(fast_fields(), parts.meter, subject.source, table);
  std::ranges::copy(slow_fields_.open(slow_fields(), parts.meter, subject.source, table),
                    std::back_inserter(refused));
  for (FieldBatch::Refused& field : refused) {
    const auto other = std::ranges::find_if(
        power_queries(), [&](const Query& query) { return query.metrics.front() == field.metric; });
    if (other != power_queries().end()) {
      fast_.open({&*other, 1}, parts.meter, subject, table);
    } else {
      table.unavailable(field.metric, subject.source, field.why.append(subject.remark));
    }
  }
}

void GpuReader::describe(const ReaderParts& parts, const FoundGpu& gpu, SeriesTable& table) {
  const std::string& source = health_.source();
  table.describe(source + ".uuid", gpu.uuid);
  table.describe(source + ".name", read_text(parts.nvml.call().name, gpu.device));
  table.describe(source + ".mig", gpu.mig ? "on" : "off");
  describe_settings(parts.nvml, gpu.device, source, table);
  if (const auto speed = pcie_bytes_per_second(parts.nvml, gpu.device))
    table.describe(source + ".pcie_bytes_per_second", fmt::format("{:.0f}", *speed));
  PciAddress pci{};
  if (parts.nvml.call().pci(gpu.device, &pci) != Status::kSuccess) return;
  const std::string address =
      fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
  table.describe(source + ".pci", address);
  const auto directory = parts.root / "sys/bus/pci/devices" / address;
  // -1 is the kernel's word for a machine without NUMA.
  const std::string node = first_line(directory / "numa_node");
  if (!node.empty() && node != "-1") table.describe(source + ".numa_node", node);
  const std::string cpus = first_line(directory / "local_cpulist");
  if (!cpus.empty()) table.describe(source + ".cpus", cpus);
  if (first_line(directory / "power/control") != "auto") return;
  if (auto file = ProcFile::open(directory / "power/runtime_status")) {
    runtime_status_ = std::move(*file);
  }
}

bool GpuReader::asleep() {
  return runtime_status_ && runtime_status_->read().starts_with("suspended");
}

void GpuReader::sample_fast(CallMeter& meter, Row& row) {
  if (health_.lost() || asleep()) return;
  fast_.sample(meter, health_, row);
  fast_fields_.sample(meter, health_, row);
  if (meter.due(Call::kEnergy)) check_energy(meter.now());
  if (gpm_ != nullptr && !health_.lost()) gpm_->sample(meter, health_, row);
  for (const auto& instance : instances_) {
    if (!health_.lost()) instance->sample_fast(meter, row);
  }
}

void GpuReader::sample_slow(CallMeter& meter, Row& row) {
  if (health_.lost() || asleep()) return;
  slow_.sample(meter, health_, row);
  slow_fields_.sample(meter, health_, row);
  rings_.drain(meter, health_, row);
}

void GpuReader::check_energy(BootTime now) {
  if (energy_reported_) return;
  const double field = fast_fields_.latest("host.gpu.power");
  const double power = std::isnan(field) ? fast_.latest("host.gpu.power") : field;
  const auto window = energy_check_.add(now, power, fast_.latest("host.gpu.energy"));
  if (!window || window->agrees()) return;
  energy_reported_ = true;
  health_.tell(
      "energy is implausible: in {:.0f} s the counter grew by {:.0f} J, power over time by {:.0f} "
      "J",
      seconds(EnergyCheck::kWindow), window->counter_joules, window->integral_joules);
}

}  // namespace corral::collect::nvidia
