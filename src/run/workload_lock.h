// WorkloadLock: of all supervisors on this host whose runs share a workload, one samples the host
// and its devices.
//
// The lock is a file beside the run directories, named by the workload's id. Whoever gets it keeps
// it until it leaves; the others ask again every second and the next one takes over.
#pragma once

#include "core/ids.h"
#include "spool/run_directory.h"

namespace corral::run {

class WorkloadLock {
 public:
  WorkloadLock(const spool::fs::path& spool_root, WorkloadId workload)
      : path_(spool_root / ("workload-" + workload.hex() + ".lock")) {}
  ~WorkloadLock();
  WorkloadLock(const WorkloadLock&) = delete;
  WorkloadLock& operator=(const WorkloadLock&) = delete;
  // Tries to get it; true when it is held.
  bool hold();

 private:
  spool::fs::path path_;
  sys::Fd lock_;
};

}  // namespace corral::run
