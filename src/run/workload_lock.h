// WorkloadLock: of all supervisors on this host whose runs share a workload, one samples the host
// and its devices.
//
// The lock is a file beside the run directories, named by the workload's id. The supervisor that
// gets it keeps it until it exits; the others ask again every second and the next one takes over.
#pragma once

#include "core/ids.h"
#include "spool/run_directory.h"

namespace corral::run {

class WorkloadLock {
 public:
  WorkloadLock(spool::fs::path spool_root, WorkloadId workload)
      : root_(std::move(spool_root)), name_("workload-" + workload.hex() + ".lock") {}
  ~WorkloadLock();
  WorkloadLock(const WorkloadLock&) = delete;
  WorkloadLock& operator=(const WorkloadLock&) = delete;
  // Tries to get it; true when it is held.
  bool hold();

 private:
  spool::fs::path root_;
  std::string name_;
  sys::Fd lock_;
};

}  // namespace corral::run
