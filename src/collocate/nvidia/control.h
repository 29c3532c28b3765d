// Control: the part of the driver's management library that changes devices, found at run time,
// symbol by symbol, and never linked. Functions that only read are in collect/nvidia/nvml.h; the
// few here are those that a change needs.
//
// A function that this driver lacks answers kFunctionNotFound. Calls may block for seconds.
// Thread-safe as NVML is.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "collect/vendor/library.h"
#include "collocate/nvidia/control_types.h"
#include "core/result.h"

namespace corral::collocate::nvidia {

template <class... Arguments>
using Function = collect::vendor::Function<Status, Status::kFunctionNotFound, Arguments...>;

// One member per function, named after its result or effect; sizes and counts as the C interface
// has them.
struct ControlFunctions {
  // Functions that list devices.
  Function<unsigned*> count;
  Function<unsigned, Device*> device;  // a device by index
  Function<Device, char*, unsigned> uuid;
  Function<Device, char*, unsigned> name;
  Function<Device, PciAddress*> pci;
  Function<Device, MemoryV1*> memory;
  Function<Device, unsigned*, ProcessV2*> processes;
  Function<Device, unsigned*, ProcessV1*> processes_v1;
  Function<Device, unsigned*, ProcessV2*> mps_processes;
  // Settings.
  Function<Device, unsigned*> compute_mode;  // ComputeMode
  Function<Device, unsigned> set_compute_mode;
  Function<Device, unsigned*> persistence;
  Function<Device, unsigned> set_persistence;
  Function<Device, unsigned, unsigned> lock_gpu_clocks;  // MHz: least, most
  Function<Device> reset_gpu_clocks;
  Function<Device, unsigned, unsigned> lock_memory_clocks;
  Function<Device> reset_memory_clocks;
  Function<Device, unsigned*, unsigned*> memory_clocks;         // count, MHz
  Function<Device, unsigned, unsigned*, unsigned*> gpu_clocks;  // at that memory clock
  Function<Device, unsigned*> power_limit;                      // mW
  Function<Device, unsigned*, unsigned*> power_limit_range;     // mW
  Function<Device, unsigned> set_power_limit;                   // mW
  // MIG.
  // The present mode, and the mode after the next activation.
  Function<Device, unsigned*, unsigned*> mig_mode;
  Function<Device, unsigned, Status*> set_mig_mode;
  Function<Device, unsigned*> mig_room;
  Function<Device, unsigned, Device*> mig_device;  // by index, with holes
  Function<Device, unsigned*> gpu_instance_id;     // for a MIG device
  Function<Device, unsigned*> compute_instance_id;
  Function<Device, unsigned, ProfileInfoV1*> profile_v1;
  Function<Device, unsigned, void*> profile;  // ProfileInfoV2
  Function<Device, unsigned, Placement*, unsigned*> placements;
  Function<Device, unsigned, unsigned*> remaining_capacity;
  Function<Device, unsigned, const Placement*, GpuInstance*> create_gpu_instance;
  Function<GpuInstance> destroy_gpu_instance;
  Function<Device, unsigned, GpuInstance*, unsigned*> gpu_instances;  // for a profile
  Function<GpuInstance, GpuInstanceInfo*> gpu_instance_info;
  Function<GpuInstance, unsigned, unsigned, ComputeProfileInfo*> compute_profile;
  Function<GpuInstance, unsigned, ComputeInstance*> create_compute_instance;
  Function<ComputeInstance> destroy_compute_instance;
  Function<GpuInstance, unsigned, ComputeInstance*, unsigned*> compute_instances;  // for a profile
  Function<ComputeInstance, ComputeInstanceInfo*> compute_instance_info;
};

class Control {
 public:
  // Loads and initialises the library; "" is the system's. The error is one that the user can act
  // on: no driver (kUnsupported), or the driver's message.
  static Result<std::shared_ptr<const Control>> open(const std::string& library);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  [[nodiscard]] const ControlFunctions& call() const { return functions_; }
  // Returns "what: the driver's message", with a fitting code: kPermission, kUnavailable (in use),
  // kUnsupported, kNotFound, else kIo.
  [[nodiscard]] Error error(Status status, std::string_view what) const;
  // Returns that error if `status` is one.
  [[nodiscard]] Result<> check(Status status, std::string_view what) const;

 private:
  explicit Control(collect::vendor::Library library);
  void bind_settings();
  void bind_instances();
  Result<> initialise();
  [[nodiscard]] std::string_view words(Status status) const;

  collect::vendor::Library library_;
  bool initialised_ = false;
  const char* (*error_words_)(Status) = nullptr;
  Function<> shutdown_;
  ControlFunctions functions_;
};

}  // namespace corral::collocate::nvidia
