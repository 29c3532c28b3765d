// Stage: prepares the machine for one workload, and restores it afterwards.
//
//   plan    finds the changes, from the shares of the workload's runs and the machine's state;
//           reports all conflicts, changes nothing
//   set     makes the changes, each journalled before
//   clear   undoes all changes, in reverse
//
// Not thread-safe. A stage that is destroyed without clear() leaves the machine changed; the
// journal has the changes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collocate/journal/journal.h"
#include "collocate/nvidia/device_plan.h"
#include "core/result.h"
#include "plan/share.h"

namespace corral::collocate {

// The start conditions of one run.
struct Seat {
  std::vector<std::string>
      environment;  // "NAME=value": CUDA_VISIBLE_DEVICES, CUDA_MPS_PIPE_DIRECTORY, …
  // Directories of one control group, joined by ':' (v1 has several), into which its process is
  // moved before exec; empty: none.
  std::string cgroup;
  std::vector<int> cpus;             // affinity set before exec, too; empty: as inherited
  std::vector<std::string> devices;  // UUIDs of its devices, as the store has them: GPU-…, MIG-…
  std::vector<nvidia::SeatDevice> places;  // the same devices, each with its GPU
  std::vector<std::string> notes;          // requests that could not be met, with the reason
};

struct StageOptions {
  std::string nvml;         // library in place of the system's; for tests
  std::string mps_control;  // program in place of nvidia-cuda-mps-control; for tests
  fs::path root = "/";      // /proc, /sys; for tests
  fs::path state;           // directory of the journal and of pipe directories
  fs::path locks;  // locks of devices; empty: the machine's (DeviceLocks), the same for all users
  std::string label;   // workload, for names of groups and messages
  std::string holder;  // name shown to others that request the same devices; empty: the label
  std::vector<fs::path> data;       // data of the runs, for CacheState::kWarm
  std::function<bool()> cancelled;  // polled while the data is read; may be empty
};

class Stage {
 public:
  // Errors name the run (by number, from 0) and all conflicts, a line each.
  static Result<Stage> plan(const std::vector<plan::Share>& shares, const StageOptions& options);
  Stage(Stage&&) noexcept;
  Stage& operator=(Stage&&) noexcept;
  ~Stage();

  // Returns the changes that set() would make, in order, for --dry-run and for the journal.
  [[nodiscard]] std::vector<std::string> changes() const;
  // kUnavailable names the present user of a device or of CPU sets. On error all changes made so
  // far have been undone.
  Result<> set(Journal& journal);
  // Returns a seat for each share. Call it after set().
  [[nodiscard]] const std::vector<Seat>& seats() const;
  // Returns the CPUs for Corral's own processes (scheduler, supervisors and server) while the runs
  // have sets of their own (in their seats). Empty: no change.
  [[nodiscard]] const std::vector<int>& housekeeping() const;
  // Returns the requests of the workload as a whole that could not be met, with the reason.
  [[nodiscard]] const std::vector<std::string>& notes() const;
  // Undoes all changes; idempotent. The error names the changes that could not be undone, and
  // `corral undo`.
  Result<> clear(Journal& journal);

 private:
  struct Impl;
  explicit Stage(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::collocate
