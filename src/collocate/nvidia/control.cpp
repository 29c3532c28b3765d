#include "collocate/nvidia/control.h"

#include <utility>

namespace corral::collocate::nvidia {

Control::Control(collect::vendor::Library library) : library_(library) {
  error_words_ = reinterpret_cast<const char* (*)(Status)>(library_.find({"nvmlErrorString"}));
  shutdown_.bind(library_.find({"nvmlShutdown"}));
  bind_settings();
  bind_instances();
}

Control::~Control() {
  if (initialised_) shutdown_();
}

Result<std::shared_ptr<const Control>> Control::open(const std::string& library) {
  auto loaded = collect::vendor::Library::open(library, {"libnvidia-ml.so.1"});
  if (!loaded) {
    return fail(Code::kUnsupported,
                "no NVIDIA driver is installed here: " + loaded.error().message);
  }
  std::shared_ptr<Control> control(new Control(*loaded));
  TRY(control->initialise());
  return control;
}

Result<> Control::initialise() {
  Function<> init;
  init.bind(library_.find({"nvmlInit_v2", "nvmlInit"}));
  const Status status = init();
  if (status == Status::kDriverNotLoaded)
    return fail(Code::kUnsupported, "the NVIDIA driver is not loaded");
  TRY(check(status, "NVML does not start"));
  initialised_ = true;
  return {};
}

void Control::bind_settings() {
  ControlFunctions& f = functions_;
  const auto& l = library_;
  f.count.bind(l.find({"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}));
  f.device.bind(l.find({"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}));
  f.uuid.bind(l.find({"nvmlDeviceGetUUID"}));
  f.name.bind(l.find({"nvmlDeviceGetName"}));
  f.pci.bind(
      l.find({"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}));
  f.memory.bind(l.find({"nvmlDeviceGetMemoryInfo"}));
  f.processes.bind(l.find(
      {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}));
  f.processes_v1.bind(l.find({"nvmlDeviceGetComputeRunningProcesses"}));
  f.mps_processes.bind(l.find({"nvmlDeviceGetMPSComputeRunningProcesses_v3",
                               "nvmlDeviceGetMPSComputeRunningProcesses_v2"}));
  f.compute_mode.bind(l.find({"nvmlDeviceGetComputeMode"}));
  f.set_compute_mode.bind(l.find({"nvmlDeviceSetComputeMode"}));
  f.persistence.bind(l.find({"nvmlDeviceGetPersistenceMode"}));
  f.set_persistence.bind(l.find({"nvmlDeviceSetPersistenceMode"}));
  f.lock_gpu_clocks.bind(l.find({"nvmlDeviceSetGpuLockedClocks"}));
  f.reset_gpu_clocks.bind(l.find({"nvmlDeviceResetGpuLockedClocks"}));
  f.lock_memory_clocks.bind(l.find({"nvmlDeviceSetMemoryLockedClocks"}));
  f.reset_memory_clocks.bind(l.find({"nvmlDeviceResetMemoryLockedClocks"}));
  f.memory_clocks.bind(l.find({"nvmlDeviceGetSupportedMemoryClocks"}));
  f.gpu_clocks.bind(l.find({"nvmlDeviceGetSupportedGraphicsClocks"}));
  f.power_limit.bind(l.find({"nvmlDeviceGetPowerManagementLimit"}));
  f.power_limit_range.bind(l.find({"nvmlDeviceGetPowerManagementLimitConstraints"}));
  f.set_power_limit.bind(l.find({"nvmlDeviceSetPowerManagementLimit"}));
}

void Control::bind_instances() {
  ControlFunctions& f = functions_;
  const auto& l = library_;
  f.mig_mode.bind(l.find({"nvmlDeviceGetMigMode"}));
  f.set_mig_mode.bind(l.find({"nvmlDeviceSetMigMode"}));
  f.mig_room.bind(l.find({"nvmlDeviceGetMaxMigDeviceCount"}));
  f.mig_device.bind(l.find({"nvmlDeviceGetMigDeviceHandleByIndex"}));
  f.gpu_instance_id.bind(l.find({"nvmlDeviceGetGpuInstanceId"}));
  f.compute_instance_id.bind(l.find({"nvmlDeviceGetComputeInstanceId"}));
  f.profile_v1.bind(l.find({"nvmlDeviceGetGpuInstanceProfileInfo"}));
  f.profile.bind(l.find({"nvmlDeviceGetGpuInstanceProfileInfoV"}));
  f.placements.bind(l.find({"nvmlDeviceGetGpuInstancePossiblePlacements_v2"}));
  f.remaining_capacity.bind(l.find({"nvmlDeviceGetGpuInstanceRemainingCapacity"}));
  f.create_gpu_instance.bind(l.find({"nvmlDeviceCreateGpuInstanceWithPlacement"}));
  f.destroy_gpu_instance.bind(l.find({"nvmlGpuInstanceDestroy"}));
  f.gpu_instances.bind(l.find({"nvmlDeviceGetGpuInstances"}));
  f.gpu_instance_info.bind(l.find({"nvmlGpuInstanceGetInfo"}));
  f.compute_profile.bind(l.find({"nvmlGpuInstanceGetComputeInstanceProfileInfo"}));
  f.create_compute_instance.bind(l.find({"nvmlGpuInstanceCreateComputeInstance"}));
  f.destroy_compute_instance.bind(l.find({"nvmlComputeInstanceDestroy"}));
  f.compute_instances.bind(l.find({"nvmlGpuInstanceGetComputeInstances"}));
  f.compute_instance_info.bind(l.find({"nvmlComputeInstanceGetInfo_v2"}));
}

std::string_view Control::words(Status status) const {
  if (status == Status::kFunctionNotFound) return "this driver has no such function";
  const char* text = error_words_ != nullptr ? error_words_(status) : nullptr;
  return text != nullptr ? text : "an error that the driver does not name";
}

Error Control::error(Status status, std::string_view what) const {
  Code code = Code::kIo;
  switch (status) {
    case Status::kNoPermission:
      code = Code::kPermission;
      break;
    case Status::kInUse:
    case Status::kTimeout:
      code = Code::kUnavailable;
      break;
    case Status::kNotSupported:
    case Status::kFunctionNotFound:
    case Status::kDriverNotLoaded:
      code = Code::kUnsupported;
      break;
    case Status::kNotFound:
      code = Code::kNotFound;
      break;
    case Status::kInvalidArgument:
      code = Code::kInvalidArgument;
      break;
    default:
      break;
  }
  return {code, std::string(what) + ": " + std::string(words(status))};
}

Result<> Control::check(Status status, std::string_view what) const {
  if (status == Status::kSuccess) return {};
  return tl::unexpected(error(status, what));
}

}  // namespace corral::collocate::nvidia
