#include "collect/nvidia/nvml.h"

namespace corral::collect::nvidia {
namespace {

void bind_functions(const vendor::Library& library, NvmlFunctions& f) {
  f.driver_version.bind(library.find({"nvmlSystemGetDriverVersion"}));
  f.count.bind(library.find({"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}));
  f.device.bind(library.find({"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}));
  f.uuid.bind(library.find({"nvmlDeviceGetUUID"}));
  f.name.bind(library.find({"nvmlDeviceGetName"}));
  f.pci.bind(
      library.find({"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}));
  f.link_generation.bind(library.find({"nvmlDeviceGetMaxPcieLinkGeneration"}));
  f.link_width.bind(library.find({"nvmlDeviceGetMaxPcieLinkWidth"}));
  f.utilization.bind(library.find({"nvmlDeviceGetUtilizationRates"}));
  f.memory_v2.bind(library.find({"nvmlDeviceGetMemoryInfo_v2"}));
  f.memory_v1.bind(library.find({"nvmlDeviceGetMemoryInfo"}));
  f.fields.bind(library.find({"nvmlDeviceGetFieldValues"}));
  f.power.bind(library.find({"nvmlDeviceGetPowerUsage"}));
  f.energy.bind(library.find({"nvmlDeviceGetTotalEnergyConsumption"}));
  f.clock.bind(library.find({"nvmlDeviceGetClockInfo"}));
  f.throttle_reasons.bind(library.find(
      {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}));
  f.temperature.bind(library.find({"nvmlDeviceGetTemperature"}));
  f.samples.bind(library.find({"nvmlDeviceGetSamples"}));
  f.performance_state.bind(library.find({"nvmlDeviceGetPerformanceState"}));
  f.persistence.bind(library.find({"nvmlDeviceGetPersistenceMode"}));
  f.ecc.bind(library.find({"nvmlDeviceGetEccMode"}));
  f.compute_mode.bind(library.find({"nvmlDeviceGetComputeMode"}));
  f.power_limit.bind(library.find({"nvmlDeviceGetPowerManagementLimit"}));
  f.encoder.bind(library.find({"nvmlDeviceGetEncoderUtilization"}));
  f.decoder.bind(library.find({"nvmlDeviceGetDecoderUtilization"}));
  f.mig_mode.bind(library.find({"nvmlDeviceGetMigMode"}));
  f.mig_room.bind(library.find({"nvmlDeviceGetMaxMigDeviceCount"}));
  f.mig_device.bind(library.find({"nvmlDeviceGetMigDeviceHandleByIndex"}));
  f.gpu_instance.bind(library.find({"nvmlDeviceGetGpuInstanceId"}));
  f.processes.bind(library.find(
      {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}));
  f.processes_v1.bind(library.find({"nvmlDeviceGetComputeRunningProcesses"}));
  f.mps_processes.bind(library.find({"nvmlDeviceGetMPSComputeRunningProcesses_v3",
                                     "nvmlDeviceGetMPSComputeRunningProcesses_v2"}));
  f.process_utilization.bind(library.find({"nvmlDeviceGetProcessUtilization"}));
  f.process_shares.bind(library.find({"nvmlDeviceGetProcessesUtilizationInfo"}));
  f.gpm_support.bind(library.find({"nvmlGpmQueryDeviceSupport"}));
  f.gpm_allocate.bind(library.find({"nvmlGpmSampleAlloc"}));
  f.gpm_free.bind(library.find({"nvmlGpmSampleFree"}));
  f.gpm_sample.bind(library.find({"nvmlGpmSampleGet"}));
  f.gpm_mig_sample.bind(library.find({"nvmlGpmMigSampleGet"}));
  f.gpm_metrics.bind(library.find({"nvmlGpmMetricsGet"}));
}

}  // namespace

Nvml::Nvml(const vendor::Library& library) {
  error_words_ = reinterpret_cast<const char* (*)(Status)>(library.find({"nvmlErrorString"}));
  init_.bind(library.find({"nvmlInit_v2", "nvmlInit"}));
  shutdown_.bind(library.find({"nvmlShutdown"}));
  bind_functions(library, functions_);
}

Nvml::~Nvml() {
  if (initialised_) shutdown_();
}

Result<std::shared_ptr<const Nvml>> Nvml::open(const std::string& library) {
  const auto loaded = vendor::Library::open(library, {"libnvidia-ml.so.1"});
  if (!loaded) {
    return fail(Code::kUnsupported,
                "no NVIDIA driver is installed here: " + loaded.error().message);
  }
  std::shared_ptr<Nvml> nvml(new Nvml(*loaded));
  const Status status = nvml->init_();
  if (status != Status::kSuccess) {
    return fail(Code::kUnavailable, "NVML does not start: " + std::string(nvml->words(status)));
  }
  nvml->initialised_ = true;
  return nvml;
}

std::string_view Nvml::words(Status status) const {
  if (status == Status::kFunctionNotFound) return "this driver has no such function";
  const char* text = error_words_ != nullptr ? error_words_(status) : nullptr;
  return text != nullptr ? text : "an error that the driver does not name";
}

}  // namespace corral::collect::nvidia
