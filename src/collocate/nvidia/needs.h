// Needs: the needs of all runs of a workload for each GPU, and their contradictions.
//
// Pure: the GPUs of the machine and their instances are passed as they were read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collocate/nvidia/gpu.h"
#include "collocate/nvidia/mig.h"
#include "collocate/nvidia/mig_plan.h"
#include "plan/share.h"

namespace corral::collocate::nvidia {

// A GPU of this machine.
struct Found {
  Gpu gpu;
  std::vector<MigDevice> instances;
};

// One device of one run.
struct Target {
  std::size_t gpu = 0;   // into Needs::gpus
  std::string instance;  // UUID of an existing MIG device; empty: the whole GPU, or a new device
  std::string profile;
};

struct Need {
  Found found;
  std::vector<std::size_t> whole;  // runs that have the whole GPU, including MPS clients
  std::vector<std::size_t> mps;    // those that are MPS clients
  std::vector<Wanted> mig;         // instances to provide
  std::vector<std::size_t> there;  // runs on a MIG device that they name
  std::optional<int> gpu_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<unsigned> power_mw;

  [[nodiscard]] bool changes_settings() const {
    return gpu_clock_mhz || memory_clock_mhz || power_mw;
  }
};

struct Needs {
  std::vector<Need> gpus;                     // in order of first appearance
  std::vector<std::vector<Target>> targets;   // targets of each run
  std::vector<std::vector<std::size_t>> mps;  // GPUs that one daemon serves, into gpus
  std::vector<std::string> problems;
};

// True if a share needs changes of its devices, not only their names.
bool wants_changes(const plan::Share& share);
Needs collect_needs(const std::vector<plan::Share>& shares, const std::vector<Found>& machine);

}  // namespace corral::collocate::nvidia
