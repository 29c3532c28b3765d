// SamplingLock: of all supervisors that could measure the same thing, one does.
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
// for them. Empty when nothing of the host may be recorded: none of the listeners measures it, or
// the run's session names no machine.
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
  // For good.
  void release();
  // A line for those who wait; of the holder.
  void say(const std::string& line) const;
  // The holder's line; nothing when there is none.
  [[nodiscard]] std::optional<std::string> said() const;
  // Whether hold() may bring a change.
  [[nodiscard]] bool waits() const { return !name_.empty() && !lock_; }

 private:
  spool::fs::path root_;
  std::string name_;
  sys::Fd lock_;
};

}  // namespace corral::run
