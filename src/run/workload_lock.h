// SamplingLock: lets one of several supervisors measure a thing that all of them could measure.
//
// The lock is a file beside the run directories. The supervisor that gets it keeps it until its run
// has ended; the others ask again and the next one takes over. A host and its devices are measured
// by one supervisor for each store; foreign sources that a workload owns, by one for each workload
// and host.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "spool/run_directory.h"

namespace corral::run {

std::string workload_lock_name(WorkloadId workload);
// Supervisors with other listeners have a lock of their own, because the holder would not measure
// for them. Returns an empty name if no listener measures the host, or if the run's session names
// no machine.
std::string host_lock_name(const spool::Manifest& manifest, std::span<const std::string> listeners);

class SamplingLock {
 public:
  // Without a name it is never held.
  SamplingLock(spool::fs::path spool_root, std::string name)
      : root_(std::move(spool_root)), name_(std::move(name)) {}
  ~SamplingLock() { release(); }
  SamplingLock(const SamplingLock&) = delete;
  SamplingLock& operator=(const SamplingLock&) = delete;
  // Tries to get it; true when it is held.
  bool hold();
  // Gives the lock up for good.
  void release();
  // Writes a line for the supervisors that wait; called by the holder.
  void say(const std::string& line) const;
  // Returns the holder's line; nullopt if there is none.
  [[nodiscard]] std::optional<std::string> said() const;
  // True if hold() may bring a change.
  [[nodiscard]] bool waits() const { return !name_.empty() && !lock_; }

 private:
  spool::fs::path root_;
  std::string name_;
  sys::Fd lock_;
};

}  // namespace corral::run
