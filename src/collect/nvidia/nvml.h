// Nvml: the driver's management library, found at run time and never linked.
//
// Every function is optional: one that this driver lacks answers kFunctionNotFound. Newer versions
// of a function are preferred where their layout is the same; where it is not, both are here.
// Nothing of this changes a device's settings. Calls may block for milliseconds or for ever; they
// allocate nothing of ours. Thread-safe as NVML is.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "collect/nvidia/nvml_types.h"
#include "collect/vendor/library.h"
#include "core/result.h"

namespace corral::collect::nvidia {

template <class... Arguments>
using Function = vendor::Function<Status, Status::kFunctionNotFound, Arguments...>;

// One member per function, named after its result; sizes and counts as the C interface has them.
struct NvmlFunctions {
  vendor::Library library;
  Function<> init{library, {"nvmlInit_v2", "nvmlInit"}};
  Function<> shutdown{library, {"nvmlShutdown"}};
  Function<char*, unsigned> driver_version{library, {"nvmlSystemGetDriverVersion"}};
  Function<unsigned*> count{library, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}};
  // by index
  Function<unsigned, Device*> device{
      library, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}};
  Function<Device, char*, unsigned> uuid{library, {"nvmlDeviceGetUUID"}};
  Function<Device, char*, unsigned> name{library, {"nvmlDeviceGetName"}};
  Function<Device, PciAddress*> pci{
      library, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}};
  // for PCIe, the most that it and its slot can
  Function<Device, unsigned*> link_generation{library, {"nvmlDeviceGetMaxPcieLinkGeneration"}};
  // lanes
  Function<Device, unsigned*> link_width{library, {"nvmlDeviceGetMaxPcieLinkWidth"}};
  Function<Device, Utilization*> utilization{library, {"nvmlDeviceGetUtilizationRates"}};
  Function<Device, MemoryV2*> memory_v2{library, {"nvmlDeviceGetMemoryInfo_v2"}};
  Function<Device, MemoryV1*> memory_v1{library, {"nvmlDeviceGetMemoryInfo"}};
  Function<Device, int, FieldValue*> fields{library, {"nvmlDeviceGetFieldValues"}};
  // mW
  Function<Device, unsigned*> power{library, {"nvmlDeviceGetPowerUsage"}};
  // mJ
  Function<Device, unsigned long long*> energy{library, {"nvmlDeviceGetTotalEnergyConsumption"}};
  // MHz
  Function<Device, Clock, unsigned*> clock{library, {"nvmlDeviceGetClockInfo"}};
  Function<Device, unsigned long long*> throttle_reasons{
      library,
      {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}};
  Function<Device, Sensor, unsigned*> temperature{library, {"nvmlDeviceGetTemperature"}};
  // The samples after that time (us): their type, and room or number. Without room: how many there
  // may be.
  Function<Device, Sampled, unsigned long long, ValueType*, unsigned*, Sample*> samples{
      library, {"nvmlDeviceGetSamples"}};
  Function<Device, unsigned*> performance_state{library, {"nvmlDeviceGetPerformanceState"}};
  Function<Device, unsigned*> persistence{library, {"nvmlDeviceGetPersistenceMode"}};
  // now, after the next reset
  Function<Device, unsigned*, unsigned*> ecc{library, {"nvmlDeviceGetEccMode"}};
  Function<Device, unsigned*> compute_mode{library, {"nvmlDeviceGetComputeMode"}};
  // mW
  Function<Device, unsigned*> power_limit{library, {"nvmlDeviceGetPowerManagementLimit"}};
  // %, sampling period in us
  Function<Device, unsigned*, unsigned*> encoder{library, {"nvmlDeviceGetEncoderUtilization"}};
  Function<Device, unsigned*, unsigned*> decoder{library, {"nvmlDeviceGetDecoderUtilization"}};
  Function<Device, unsigned*, ProcessV2*> processes{
      library,
      {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}};
  Function<Device, unsigned*, ProcessV1*> processes_v1{library,
                                                       {"nvmlDeviceGetComputeRunningProcesses"}};
  Function<Device, unsigned*, ProcessV2*> mps_processes{
      library,
      {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"}};
  Function<Device, ProcessUtilization*, unsigned*, unsigned long long> process_utilization{
      library, {"nvmlDeviceGetProcessUtilization"}};
  Function<Device, ProcessShares*> process_shares{library,
                                                  {"nvmlDeviceGetProcessesUtilizationInfo"}};
  // now, after the next reset
  Function<Device, unsigned*, unsigned*> mig_mode{library, {"nvmlDeviceGetMigMode"}};
  Function<Device, unsigned*> mig_room{library, {"nvmlDeviceGetMaxMigDeviceCount"}};
  // by index, with holes
  Function<Device, unsigned, Device*> mig_device{library, {"nvmlDeviceGetMigDeviceHandleByIndex"}};
  Function<Device, unsigned*> gpu_instance{library, {"nvmlDeviceGetGpuInstanceId"}};
  Function<Device, GpmSupport*> gpm_support{library, {"nvmlGpmQueryDeviceSupport"}};
  Function<GpmSample*> gpm_allocate{library, {"nvmlGpmSampleAlloc"}};
  Function<GpmSample> gpm_free{library, {"nvmlGpmSampleFree"}};
  Function<Device, GpmSample> gpm_sample{library, {"nvmlGpmSampleGet"}};
  Function<Device, unsigned, GpmSample> gpm_mig_sample{library, {"nvmlGpmMigSampleGet"}};
  Function<GpmRequest*> gpm_metrics{library, {"nvmlGpmMetricsGet"}};
};

class Nvml {
 public:
  // Loads and initialises; "" is the system's library. The error is one that the user can act on:
  // no driver, or the driver's own words.
  static Result<std::shared_ptr<const Nvml>> open(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  const NvmlFunctions& call() const { return functions_; }
  // The driver's words for a status; lives as long as this.
  [[nodiscard]] std::string_view words(Status status) const;

 private:
  explicit Nvml(const vendor::Library& library);

  bool initialised_ = false;
  const char* (*error_words_)(Status) = nullptr;
  NvmlFunctions functions_;
};

// A text that a function with (char*, size) arguments gives; empty when it refuses.
template <class Function, class... Arguments>
std::string read_text(const Function& function, Arguments... arguments) {
  char text[96] = {};
  return function(arguments..., text, static_cast<unsigned>(sizeof text - 1)) == Status::kSuccess
             ? std::string(text)
             : std::string();
}

}  // namespace corral::collect::nvidia
