// Needs: the needs of all runs of a workload for each GPU, and their contradictions; then, for one
// GPU, the changes that it needs before its runs can start, and the obstacles.
//
// collect_needs() is pure: the GPUs of the machine and their instances are passed as they were
// read. preflight() reads the driver and changes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collocate/nvidia/control.h"
#include "collocate/nvidia/gpu.h"
#include "collocate/nvidia/mig.h"
#include "collocate/nvidia/mig_plan.h"
#include "plan/share.h"

namespace corral::collocate::nvidia {

// A GPU of this machine.
struct MachineGpu {
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
  MachineGpu found;
  std::vector<std::size_t> whole;   // runs that have the whole GPU, including MPS clients
  std::vector<std::size_t> mps;     // those that are MPS clients
  std::vector<WantedInstance> mig;  // instances to provide
  std::vector<std::size_t> there;   // runs on a MIG device that they name
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
Needs collect_needs(const std::vector<plan::Share>& shares, const std::vector<MachineGpu>& machine);

// ---- preflight

// An existing idle MIG device with the profile of a run: it is used without a change.
struct Reused {
  std::size_t run = 0;
  std::string uuid;
};

struct Preflight {
  bool turn_persistence_on = false;
  bool turn_mig_on = false;
  bool turn_mig_off = false;
  bool make_shareable = false;  // compute mode: default
  std::vector<Reused> reused;
  std::vector<WantedInstance> created;  // runs that need a new instance
  std::vector<std::string> instances;   // descriptions, in order of creation
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // notes for every run on the GPU
};

Preflight preflight(const Control& control, const Need& need);

// Places the requested instances beside the present ones.
Result<std::vector<PlacedInstance>> place_on(const Control& control, const Gpu& gpu,
                                             const std::vector<WantedInstance>& wanted);

}  // namespace corral::collocate::nvidia
