// DevicePlan: the GPU needs of a workload's runs: the changes to make for them, and the start
// conditions of each.
//
//   plan   reads the driver, changes nothing; says everything that does not fit
//   set    makes the changes, each journalled before; what it made is put back by
//          collocate::put_back, in which nvidia/undo.h takes part
//
// Without a driver, shares that only name devices work: they are passed on unchanged. Not
// thread-safe. The driver is kept open as long as this lives, so that settings that end with its
// last user hold.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collocate/journal.h"
#include "core/result.h"
#include "plan/share.h"

namespace corral::collocate::nvidia {

struct DeviceOptions {
  std::string nvml;         // library in place of the system's; for tests
  std::string mps_control;  // program in place of nvidia-cuda-mps-control; for tests
  fs::path state;           // pipe directories are made below it
  // The pipe directory of a daemon of the machine's operator.
  fs::path operator_pipe = "/tmp/nvidia-mps";
};

// A device that a run sees.
struct SeatDevice {
  std::string device;    // UUID of the GPU; without a driver as written
  std::string instance;  // UUID of the MIG device, "MIG-…"; empty: the whole GPU
  std::string profile;   // "3g.20gb" where there is an instance
};

struct DeviceSeat {
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<SeatDevice> devices;
  std::vector<std::string> notes;  // notes for the user, "GPU 0: pid 4711 uses it, too"
};

class DevicePlan {
 public:
  // The error names the runs (by number, from 0) and everything that does not fit, a line each.
  static Result<DevicePlan> plan(const std::vector<plan::Share>& shares,
                                 const DeviceOptions& options);
  DevicePlan(DevicePlan&&) noexcept;
  DevicePlan& operator=(DevicePlan&&) noexcept;
  ~DevicePlan();

  // UUIDs of the GPUs that the shares name, each once, in order of first appearance; without a
  // driver as written. These are to be locked.
  [[nodiscard]] const std::vector<std::string>& gpus() const;
  // PCI addresses of one run's GPUs, "0000:65:00.0", for what lies near them; empty without a
  // driver.
  [[nodiscard]] std::vector<std::string> addresses(std::size_t run) const;
  // Returns the changes that set() would make, in order.
  [[nodiscard]] std::vector<std::string> changes() const;
  // On an error, the changes so far stand in the journal: the caller undoes them.
  Result<> set(Journal& journal);
  // One for each share; MIG devices have their UUIDs after set().
  [[nodiscard]] const std::vector<DeviceSeat>& seats() const;

 private:
  struct Impl;
  explicit DevicePlan(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::collocate::nvidia
