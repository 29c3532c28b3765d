// A fake libnvidia-ml.so.1 for tests, whose settings can be changed and are kept across processes
// (state.h); it is as strict as the driver about versions, handles and the order of calls. Its
// measurements are made up. Never installed.
#include "collocate/nvidia/fake/call.h"

namespace corral::collocate::nvidia::fake {
namespace {

std::string uuid_of(const DeviceObject& device) {
  std::array<char, 64> text{};
  const long gi = device.gi < 0 ? 0 : device.gi;
  const long ci = device.ci < 0 ? 0 : device.ci;
  std::snprintf(text.data(), text.size(), "%s-%08x-fa4e-4000-8000-%06lx%06lx",
                device.gi < 0 ? "GPU" : "MIG", 0xc0de0000U + device.gpu, gi, ci);
  return text.data();
}

std::string profile_of(const Call& call, const DeviceObject& device) {
  for (const Call::Occupant& one : call.occupants(device.gpu)) {
    if (one.id != device.gi) continue;
    const ModelProfile* profile = call.profile_with(one.profile);
    const unsigned slices =
        static_cast<unsigned>(call.state.number(ci_key(device.gpu, device.gi, device.ci)));
    if (profile == nullptr) return "";
    // Compute profiles are numbered by their slices here.
    return slices == profile->slices ? profile->name
                                     : std::to_string(slices) + "c." + profile->name;
  }
  return "";
}

template <class Process>
Status give_processes(const Call& call, Device device, unsigned* count, Process* list) {
  if (call.failed()) return call.status;
  const auto pids = call.processes(device->gpu, device->gi, device->ci);
  for (std::size_t i = 0; i < pids.size() && i < *count; ++i) {
    list[i] = {};
    list[i].pid = pids[i];
    list[i].memory = std::uint64_t{1} << 30U;
  }
  const bool fits = pids.size() <= *count;
  *count = static_cast<unsigned>(pids.size());
  return fits ? Status::kSuccess : Status::kInsufficientSize;
}

Status set_number(Call& call, Device device, const char* name, long value, long usual) {
  if (call.failed()) return call.status;
  // A setting equal to the machine's usual one is not kept: the state before and after can be
  // compared.
  call.state.set(key(device->gpu, name), value == usual ? "" : std::to_string(value));
  return Status::kSuccess;
}

}  // namespace
}  // namespace corral::collocate::nvidia::fake

using namespace corral::collocate::nvidia;        // NOLINT: all of this file is the fake
using namespace corral::collocate::nvidia::fake;  // NOLINT

extern "C" {

Status nvmlInit_v2() {
  ++users;
  const Call call(__func__);
  if (call.failed()) --users;
  return call.status;
}
Status nvmlShutdown() {
  if (users == 0) return Status::kUninitialized;
  --users;
  return Status::kSuccess;
}
const char* nvmlErrorString(Status status) {
  switch (status) {
    case Status::kSuccess:
      return "Success";
    case Status::kInvalidArgument:
      return "Invalid Argument";
    case Status::kNotSupported:
      return "Not Supported";
    case Status::kNoPermission:
      return "Insufficient Permissions";
    case Status::kNotFound:
      return "Not Found";
    case Status::kInUse:
      return "In use by another client";
    case Status::kInsufficientResources:
      return "Insufficient Resources";
    case Status::kResetRequired:
      return "GPU requires reset";
    case Status::kDriverNotLoaded:
      return "Driver Not Loaded";
    case Status::kVersionMismatch:
      return "Argument Version Mismatch";
    default:
      return "Unknown Error";
  }
}
Status nvmlSystemGetDriverVersion(char* out, unsigned size) {
  const Call call(__func__);
  return call.failed() ? call.status : copy("580.00.fake", out, size);
}
Status nvmlDeviceGetCount_v2(unsigned* count) {
  const Call call(__func__);
  if (!call.failed()) *count = static_cast<unsigned>(call.state.number("gpus", 1));
  return call.status;
}
Status nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* out) {
  const Call call(__func__);
  if (call.failed()) return call.status;
  if (index >= kMostGpus || index >= call.state.number("gpus", 1)) return Status::kInvalidArgument;
  *out = device_handle(index, -1, -1);
  return Status::kSuccess;
}
Status nvmlDeviceGetUUID(Device device, char* out, unsigned size) {
  const Call call(__func__, device);
  return call.failed() ? call.status : copy(uuid_of(*device), out, size);
}
Status nvmlDeviceGetName(Device device, char* out, unsigned size) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  const std::string mig = device->gi < 0 ? "" : " MIG " + profile_of(call, *device);
  return copy(call.model->name + mig, out, size);
}
Status nvmlDeviceGetPciInfo_v3(Device device, PciAddress* pci) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  *pci = {};
  pci->bus = 0x17 + device->gpu * 0x10;
  std::snprintf(pci->text, sizeof pci->text, "00000000:%02X:00.0", pci->bus);
  return Status::kSuccess;
}

Status nvmlDeviceGetMemoryInfo(Device device, MemoryV1* out) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  out->total = call.model->memory_mib << 20U;
  out->used = std::uint64_t{1} << 30U;
  out->free = out->total - out->used;
  return Status::kSuccess;
}
Status nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* out) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (out->version != kMemoryV2Version) return Status::kVersionMismatch;
  out->total = call.model->memory_mib << 20U;
  out->reserved = std::uint64_t{512} << 20U;
  out->used = std::uint64_t{1} << 30U;
  out->free = out->total - out->reserved - out->used;
  return Status::kSuccess;
}
Status nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (call.mig(device->gpu)) return Status::kNotSupported;
  *out = {50, 25};
  return Status::kSuccess;
}
Status nvmlDeviceGetPowerUsage(Device device, unsigned* out) {
  const Call call(__func__, device);
  if (!call.failed()) *out = call.model->default_power_mw / 2;
  return call.status;
}
Status nvmlDeviceGetTemperature(Device device, unsigned, unsigned* out) {
  const Call call(__func__, device);
  if (!call.failed())
    *out = static_cast<unsigned>(call.state.number(key(device->gpu, "temperature"), 45));
  return call.status;
}
Status nvmlDeviceGetClockInfo(Device device, Clock clock, unsigned* out) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  const bool memory = clock == Clock::kMemory;
  const unsigned usual = memory ? call.model->memory_clock_mhz : call.model->highest_clock_mhz;
  *out = static_cast<unsigned>(
      call.state.number(key(device->gpu, memory ? "lock.memory" : "lock.gpu"), usual));
  return Status::kSuccess;
}

Status nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessV2* list) {
  return give_processes(Call(__func__, device), device, count, list);
}
Status nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, ProcessV1* list) {
  return give_processes(Call(__func__, device), device, count, list);
}
Status nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned* count, ProcessV2*) {
  const Call call(__func__, device);
  if (!call.failed()) *count = 0;
  return call.status;
}

Status nvmlDeviceGetComputeMode(Device device, ComputeMode* mode) {
  const Call call(__func__, device);
  if (!call.failed())
    *mode = static_cast<ComputeMode>(call.state.number(key(device->gpu, "compute_mode")));
  return call.status;
}
Status nvmlDeviceSetComputeMode(Device device, ComputeMode mode) {
  Call call(__func__, device);
  if (!call.failed() && call.mig(device->gpu) && device->gi < 0) return Status::kNotSupported;
  return set_number(call, device, "compute_mode", static_cast<long>(mode), 0);
}
Status nvmlDeviceGetPersistenceMode(Device device, unsigned* mode) {
  const Call call(__func__, device);
  if (!call.failed())
    *mode = static_cast<unsigned>(call.state.number(key(device->gpu, "persistence")));
  return call.status;
}
Status nvmlDeviceSetPersistenceMode(Device device, unsigned mode) {
  Call call(__func__, device);
  return set_number(call, device, "persistence", mode, 0);
}
Status nvmlDeviceGetSupportedMemoryClocks(Device device, unsigned* count, unsigned* clocks) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (*count < 1) return Status::kInsufficientSize;
  *count = 1;
  clocks[0] = call.model->memory_clock_mhz;
  return Status::kSuccess;
}
Status nvmlDeviceGetSupportedGraphicsClocks(Device device, unsigned memory, unsigned* count,
                                            unsigned* clocks) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (memory != call.model->memory_clock_mhz) return Status::kNotFound;
  unsigned found = 0;
  for (unsigned mhz = call.model->highest_clock_mhz; mhz >= 210; mhz -= 15) {
    if (found >= *count) return Status::kInsufficientSize;
    clocks[found++] = mhz;
  }
  *count = found;
  return Status::kSuccess;
}
Status nvmlDeviceSetGpuLockedClocks(Device device, unsigned least, unsigned most) {
  Call call(__func__, device);
  if (call.failed()) return call.status;
  if (least > most || most > call.model->highest_clock_mhz) return Status::kInvalidArgument;
  call.state.set(key(device->gpu, "lock.gpu"), std::to_string(least) + " " + std::to_string(most));
  return Status::kSuccess;
}
Status nvmlDeviceResetGpuLockedClocks(Device device) {
  Call call(__func__, device);
  if (!call.failed()) call.state.set(key(device->gpu, "lock.gpu"), "");
  return call.status;
}
Status nvmlDeviceSetMemoryLockedClocks(Device device, unsigned least, unsigned most) {
  Call call(__func__, device);
  if (call.failed()) return call.status;
  if (least > most || most > call.model->memory_clock_mhz) return Status::kInvalidArgument;
  call.state.set(key(device->gpu, "lock.memory"),
                 std::to_string(least) + " " + std::to_string(most));
  return Status::kSuccess;
}
Status nvmlDeviceResetMemoryLockedClocks(Device device) {
  Call call(__func__, device);
  if (!call.failed()) call.state.set(key(device->gpu, "lock.memory"), "");
  return call.status;
}
Status nvmlDeviceGetPowerManagementLimit(Device device, unsigned* limit) {
  const Call call(__func__, device);
  if (!call.failed())
    *limit = static_cast<unsigned>(
        call.state.number(key(device->gpu, "power"), long{call.model->default_power_mw}));
  return call.status;
}
Status nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned* limit) {
  const Call call(__func__, device);
  if (!call.failed()) *limit = call.model->default_power_mw;
  return call.status;
}
Status nvmlDeviceGetPowerManagementLimitConstraints(Device device, unsigned* least,
                                                    unsigned* most) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  *least = call.model->least_power_mw;
  *most = call.model->default_power_mw;
  return Status::kSuccess;
}
Status nvmlDeviceSetPowerManagementLimit(Device device, unsigned limit) {
  Call call(__func__, device);
  if (call.failed()) return call.status;
  if (limit < call.model->least_power_mw || limit > call.model->default_power_mw)
    return Status::kInvalidArgument;
  return set_number(call, device, "power", limit, long{call.model->default_power_mw});
}
}
