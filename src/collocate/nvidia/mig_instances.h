// MIG instances: makes and removes them, each step journalled. Needs root.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collocate/journal.h"
#include "collocate/nvidia/control.h"
#include "collocate/nvidia/gpu.h"
#include "collocate/nvidia/mig_plan.h"
#include "core/result.h"

namespace corral::collocate::nvidia {

// Returns "MIG 3g.20gb on GPU 0, memory slices 4-7: created".
std::string instance_words(const Profile& profile, const Placement& at, const Gpu& gpu);
// Makes a GPU instance and one compute instance that fills it; returns the UUID of the MIG device.
// The journal gets two entries; on an error, it has the instances made so far.
Result<std::string> create_instance(Journal& journal, const Control& control, std::string_view uuid,
                                    const Placed& placed);
// Undo changes of kinds "mig-instance" and "compute-instance". kUnavailable while a process uses
// the instance.
Result<bool> put_back_gpu_instance(const Control& control, const Standing& entry, bool dry_run);
Result<bool> put_back_compute_instance(const Control& control, const Standing& entry, bool dry_run);
// Returns the processes that still use the instance of an entry.
std::vector<unsigned> users_of_instance(const Control& control, const Standing& entry);

}  // namespace corral::collocate::nvidia
