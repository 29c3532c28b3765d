#include "collect/nvidia/gpu_settings.h"

#include <array>
#include <string_view>

#include "collect/nvidia/process_room.h"

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

}  // namespace

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

}  // namespace corral::collect::nvidia
