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
  // What set() would change, in words. The error says all that does not fit.
  virtual Result<std::vector<std::string>> changes(const plan::Workload& workload) = 0;
  // A seat for each row. kUnavailable: another scheduler has what is needed, for now; its name is
  // in the error.
  virtual Result<std::vector<collocate::Seat>> set(const plan::Workload& workload) = 0;
  // CPUs for this process and the supervisors meanwhile; empty: wherever they are.
  [[nodiscard]] virtual std::vector<int> housekeeping() const { return {}; }
  // Puts all back; idempotent. The error says what could not be put back.
  virtual Result<> clear() = 0;
};

struct MachineOptions {
  std::filesystem::path state;               // $XDG_STATE_HOME/corral: the undo journal
  std::filesystem::path directory;           // where relative names of data start
  std::filesystem::path plan;                // directory of the plan's state, for who undoes
  std::vector<std::filesystem::path> spool;  // where the runs' directories are, for the same
  std::string nvml;                          // in place of the system's; for tests
  std::string mps_control;
  std::string holder;  // what others read who want the same devices: "plan.csv"
  std::function<bool()> cancelled;
};
std::unique_ptr<Machine> this_machine(const MachineOptions& options);

}  // namespace corral::run::schedule
