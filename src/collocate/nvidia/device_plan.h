// DevicePlan: the changes of GPUs for a workload's runs, and the start conditions of each run.
//
//   plan   reads the driver, changes nothing; reports all conflicts
//   set    makes the changes, each journalled before; what it made is put back by
//          collocate::put_back, in which nvidia/undo.h takes part
//
// Without a driver, only shares that name devices are possible; the names are passed on unchanged.
// Not thread-safe. The driver stays open as long as this lives, because some settings end with its
// last user.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collocate/journal/journal.h"
#include "core/result.h"
#include "plan/share.h"

namespace corral::collocate::nvidia {

struct DeviceOptions {
  std::string nvml;         // replaces the system's library; for tests
  std::string mps_control;  // program in place of nvidia-cuda-mps-control; for tests
  fs::path state;           // pipe directories are made below it
  // The pipe directory of a daemon of the machine's operator.
  fs::path operator_pipe = "/tmp/nvidia-mps";
};

// A device that a run sees.
struct SeatDevice {
  std::string device;      // UUID of the GPU; without a driver as written
  std::string instance{};  // UUID of the MIG device, "MIG-…"; empty: the whole GPU
  std::string profile{};   // "3g.20gb" of the instance; empty: none
};

struct DeviceSeat {
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<SeatDevice> devices;
  std::vector<std::string> notes;  // notes for the user, "GPU 0: pid 4711 uses it, too"
};

class DevicePlan {
 public:
  // The error names the runs (by number, from 0) and all conflicts, a line each.
  static Result<DevicePlan> plan(const std::vector<plan::Share>& shares,
                                 const DeviceOptions& options);
  DevicePlan(DevicePlan&&) noexcept;
  DevicePlan& operator=(DevicePlan&&) noexcept;
  ~DevicePlan();

  // Returns the UUIDs of the GPUs that the shares name, each once, in order of first appearance;
  // without a driver the names as written. The caller locks them.
  [[nodiscard]] const std::vector<std::string>& gpus() const;
  // Returns the PCI addresses of a run's GPUs, "0000:65:00.0", to find the CPUs near them; empty
  // without a driver.
  [[nodiscard]] std::vector<std::string> addresses(std::size_t run) const;
  // Returns the changes that set() would make, in order.
  [[nodiscard]] std::vector<std::string> changes() const;
  // Makes the changes. On an error, those made so far are in the journal: the caller undoes them.
  Result<> set(Journal& journal);
  // Returns a seat for each share; MIG devices have their UUIDs after set().
  [[nodiscard]] const std::vector<DeviceSeat>& seats() const;

 private:
  struct Impl;
  explicit DevicePlan(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::collocate::nvidia
