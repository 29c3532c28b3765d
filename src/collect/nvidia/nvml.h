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
  Function<char*, unsigned> driver_version;
  Function<unsigned*> count;
  Function<unsigned, Device*> device;  // by index
  Function<Device, char*, unsigned> uuid;
  Function<Device, char*, unsigned> name;
  Function<Device, PciAddress*> pci;
  Function<Device, unsigned*> link_generation;  // for PCIe, the most that it and its slot can
  Function<Device, unsigned*> link_width;       // lanes
  Function<Device, Utilization*> utilization;
  Function<Device, MemoryV2*> memory_v2;
  Function<Device, MemoryV1*> memory_v1;
  Function<Device, int, FieldValue*> fields;
  Function<Device, unsigned*> power;             // mW
  Function<Device, unsigned long long*> energy;  // mJ
  Function<Device, Clock, unsigned*> clock;      // MHz
  Function<Device, unsigned long long*> throttle_reasons;
  Function<Device, Sensor, unsigned*> temperature;
  // The samples after that time (us): their type, and room or number. Without room: how many there
  // may be.
  Function<Device, Sampled, unsigned long long, ValueType*, unsigned*, Sample*> samples;
  Function<Device, unsigned*> performance_state;
  Function<Device, unsigned*> persistence;
  Function<Device, unsigned*, unsigned*> ecc;  // now, after the next reset
  Function<Device, unsigned*> compute_mode;
  Function<Device, unsigned*> power_limit;         // mW
  Function<Device, unsigned*, unsigned*> encoder;  // %, sampling period in us
  Function<Device, unsigned*, unsigned*> decoder;
  Function<Device, unsigned*, ProcessV2*> processes;
  Function<Device, unsigned*, ProcessV1*> processes_v1;
  Function<Device, unsigned*, ProcessV2*> mps_processes;
  Function<Device, ProcessUtilization*, unsigned*, unsigned long long> process_utilization;
  Function<Device, ProcessShares*> process_shares;
  Function<Device, unsigned*, unsigned*> mig_mode;  // now, after the next reset
  Function<Device, unsigned*> mig_room;
  Function<Device, unsigned, Device*> mig_device;  // by index, with holes
  Function<Device, unsigned*> gpu_instance;
  Function<Device, GpmSupport*> gpm_support;
  Function<GpmSample*> gpm_allocate;
  Function<GpmSample> gpm_free;
  Function<Device, GpmSample> gpm_sample;
  Function<Device, unsigned, GpmSample> gpm_mig_sample;
  Function<GpmRequest*> gpm_metrics;
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
  Function<> init_;
  Function<> shutdown_;
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
