// MIG on a GPU: its instances and the driver's offers, and making and removing instances, each step
// journalled.
//
// Listing MIG devices needs no privilege; placements and instances need root.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collocate/journal/journal.h"
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
Result<std::vector<Profile>> read_profiles(const Control& control, const Gpu& gpu);

struct Instance {
  GpuInstance handle = nullptr;
  unsigned id = 0;
  Occupied at;
};
// Returns the GPU instances of all creators; empty while MIG mode is off.
Result<std::vector<Instance>> read_instances(const Control& control, const Gpu& gpu,
                                             const std::vector<Profile>& profiles);

// Returns "MIG 3g.20gb on GPU 0, memory slices 4-7: created".
std::string instance_words(const Profile& profile, const Placement& at, const Gpu& gpu);
// Makes a GPU instance and one compute instance that fills it; returns the UUID of the MIG device.
// The journal gets two entries; on an error, it has the instances made so far.
Result<std::string> create_instance(Journal& journal, const Control& control, std::string_view uuid,
                                    const PlacedInstance& placed);
// Undo changes of kinds "mig-instance" and "compute-instance". kUnavailable while a process uses
// the instance.
Result<bool> put_back_gpu_instance(const Control& control, const Standing& entry, bool dry_run);
Result<bool> put_back_compute_instance(const Control& control, const Standing& entry, bool dry_run);
// Returns the processes that still use the instance of an entry.
std::vector<unsigned> users_of_instance(const Control& control, const Standing& entry);

}  // namespace corral::collocate::nvidia
