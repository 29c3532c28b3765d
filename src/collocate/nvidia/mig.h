// MIG on a GPU: its instances, and the driver's offers.
//
// Listing MIG devices needs no privilege; placements and instances need root.
#pragma once

#include <string>
#include <vector>

#include "collocate/nvidia/control.h"
#include "collocate/nvidia/gpu.h"
#include "collocate/nvidia/mig_plan.h"
#include "core/result.h"

namespace corral::collocate::nvidia {

// A compute instance that programs can use.
struct MigDevice {
  Device handle = nullptr;
  std::string uuid;     // "MIG-…"
  std::string profile;  // "3g.20gb"; "1c.3g.20gb" for a part of a GPU instance
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  std::vector<unsigned> processes;
};
std::vector<MigDevice> mig_devices(const Control& control, const Gpu& gpu);

// Returns the profiles with their placements. kUnsupported if the GPU has no MIG, or if the driver
// reports them only while MIG mode is on.
Result<std::vector<Profile>> profiles_of(const Control& control, const Gpu& gpu);

struct Instance {
  GpuInstance handle = nullptr;
  unsigned id = 0;
  Occupied at;
};
// Returns the GPU instances of all creators; empty while MIG mode is off.
Result<std::vector<Instance>> instances_of(const Control& control, const Gpu& gpu,
                                           const std::vector<Profile>& profiles);

}  // namespace corral::collocate::nvidia
