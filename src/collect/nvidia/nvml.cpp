#include "collect/nvidia/nvml.h"

#include <dlfcn.h>

namespace corral::collect::nvidia {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";

std::string loader_words() {
  const char* words = ::dlerror();
  return words != nullptr ? words : "unknown error of the loader";
}

}  // namespace

void Nvml::Unload::operator()(void* library) const { ::dlclose(library); }

Nvml::Nvml(void* library) : library_(library) {
  error_words_ = reinterpret_cast<const char* (*)(Status)>(find({"nvmlErrorString"}));
  shutdown_.bind(find({"nvmlShutdown"}));
  bind_device_functions();
  bind_process_functions();
  bind_gpm_functions();
}

Nvml::~Nvml() {
  if (initialised_) shutdown_();
}

Result<std::shared_ptr<const Nvml>> Nvml::open(const std::string& library) {
  // Never unloaded: threads that a driver leaves behind in the process must keep their code.
  const std::string path = library.empty() ? kLibrary : library;
  void* loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (loaded == nullptr) {
    return fail(Code::kUnsupported, "no NVIDIA driver is installed here: " + loader_words());
  }
  std::shared_ptr<Nvml> nvml(new Nvml(loaded));
  TRY(nvml->initialise());
  return nvml;
}

Result<> Nvml::initialise() {
  Function<> init;
  init.bind(find({"nvmlInit_v2", "nvmlInit"}));
  const Status status = init();
  if (status != Status::kSuccess) {
    return fail(Code::kUnavailable, "NVML does not start: " + std::string(words(status)));
  }
  initialised_ = true;
  return {};
}

void* Nvml::find(std::initializer_list<const char*> names) const {
  for (const char* name : names) {
    if (void* symbol = ::dlsym(library_.get(), name); symbol != nullptr) return symbol;
  }
  return nullptr;
}

void Nvml::bind_device_functions() {
  NvmlFunctions& f = functions_;
  f.driver_version.bind(find({"nvmlSystemGetDriverVersion"}));
  f.count.bind(find({"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}));
  f.device.bind(find({"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}));
  f.uuid.bind(find({"nvmlDeviceGetUUID"}));
  f.name.bind(find({"nvmlDeviceGetName"}));
  f.pci.bind(find({"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}));
  f.link_generation.bind(find({"nvmlDeviceGetMaxPcieLinkGeneration"}));
  f.link_width.bind(find({"nvmlDeviceGetMaxPcieLinkWidth"}));
  f.utilization.bind(find({"nvmlDeviceGetUtilizationRates"}));
  f.memory_v2.bind(find({"nvmlDeviceGetMemoryInfo_v2"}));
  f.memory_v1.bind(find({"nvmlDeviceGetMemoryInfo"}));
  f.fields.bind(find({"nvmlDeviceGetFieldValues"}));
  f.power.bind(find({"nvmlDeviceGetPowerUsage"}));
  f.energy.bind(find({"nvmlDeviceGetTotalEnergyConsumption"}));
  f.clock.bind(find({"nvmlDeviceGetClockInfo"}));
  f.throttle_reasons.bind(find(
      {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}));
  f.temperature.bind(find({"nvmlDeviceGetTemperature"}));
  f.samples.bind(find({"nvmlDeviceGetSamples"}));
  f.performance_state.bind(find({"nvmlDeviceGetPerformanceState"}));
  f.persistence.bind(find({"nvmlDeviceGetPersistenceMode"}));
  f.ecc.bind(find({"nvmlDeviceGetEccMode"}));
  f.compute_mode.bind(find({"nvmlDeviceGetComputeMode"}));
  f.power_limit.bind(find({"nvmlDeviceGetPowerManagementLimit"}));
  f.encoder.bind(find({"nvmlDeviceGetEncoderUtilization"}));
  f.decoder.bind(find({"nvmlDeviceGetDecoderUtilization"}));
  f.mig_mode.bind(find({"nvmlDeviceGetMigMode"}));
  f.mig_room.bind(find({"nvmlDeviceGetMaxMigDeviceCount"}));
  f.mig_device.bind(find({"nvmlDeviceGetMigDeviceHandleByIndex"}));
  f.gpu_instance.bind(find({"nvmlDeviceGetGpuInstanceId"}));
}

void Nvml::bind_process_functions() {
  NvmlFunctions& f = functions_;
  f.processes.bind(
      find({"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}));
  f.processes_v1.bind(find({"nvmlDeviceGetComputeRunningProcesses"}));
  f.mps_processes.bind(find({"nvmlDeviceGetMPSComputeRunningProcesses_v3",
                             "nvmlDeviceGetMPSComputeRunningProcesses_v2"}));
  f.process_utilization.bind(find({"nvmlDeviceGetProcessUtilization"}));
  f.process_shares.bind(find({"nvmlDeviceGetProcessesUtilizationInfo"}));
}

void Nvml::bind_gpm_functions() {
  NvmlFunctions& f = functions_;
  f.gpm_support.bind(find({"nvmlGpmQueryDeviceSupport"}));
  f.gpm_allocate.bind(find({"nvmlGpmSampleAlloc"}));
  f.gpm_free.bind(find({"nvmlGpmSampleFree"}));
  f.gpm_sample.bind(find({"nvmlGpmSampleGet"}));
  f.gpm_mig_sample.bind(find({"nvmlGpmMigSampleGet"}));
  f.gpm_metrics.bind(find({"nvmlGpmMetricsGet"}));
}

std::string_view Nvml::words(Status status) const {
  if (status == Status::kFunctionNotFound) return "this driver has no such function";
  const char* text = error_words_ != nullptr ? error_words_(status) : nullptr;
  return text != nullptr ? text : "an error that the driver does not name";
}

}  // namespace corral::collect::nvidia
