// Machine: the devices, CPUs and groups that a workload's runs get, by collocate::Stage; a fake in
// tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collocate/stage.h"
#include "core/result.h"
#include "plan/plan.h"

namespace corral::run::schedule {

class Machine {
 public:
  virtual ~Machine() = default;
  // Describes the changes that set() would make. The error lists all conflicts.
  virtual Result<std::vector<std::string>> changes(const plan::Workload& workload) = 0;
  // Returns a seat for each row. kUnavailable: another scheduler holds the devices at present; the
  // error names it.
  virtual Result<std::vector<collocate::Seat>> set(const plan::Workload& workload) = 0;
  // Returns the CPUs for this process and the supervisors meanwhile; empty: no change.
  [[nodiscard]] virtual std::vector<int> housekeeping() const { return {}; }
  // Restores everything; idempotent. The error lists the changes that could not be undone.
  virtual Result<> clear() = 0;
};

struct MachineOptions {
  std::filesystem::path state;               // $XDG_STATE_HOME/corral: the undo journal
  std::filesystem::path directory;           // folder of relative data names
  std::filesystem::path plan;                // directory of the plan's state, for an undo
  std::vector<std::filesystem::path> spool;  // folders of the runs' directories, for an undo
  std::string nvml;                          // replaces the system's library; for tests
  std::string mps_control;
  std::string holder;  // name shown to schedulers that need the same devices: "plan.csv"
  std::function<bool()> cancelled;
};
std::unique_ptr<Machine> this_machine(const MachineOptions& options);

}  // namespace corral::run::schedule
