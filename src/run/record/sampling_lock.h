// SamplingLock: lets one of several supervisors measure a thing that all of them could measure.
//
// The lock is a file beside the run directories. The supervisor that gets it keeps it until its run
// has ended; the others ask again and the next one takes over. A host and its devices are measured
// by one supervisor for each store; foreign sources that a workload owns, by one for each workload
// and host.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/health.h"
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
  void publish(const std::string& line) const;
  // Returns the holder's line; nullopt if there is none.
  [[nodiscard]] std::optional<std::string> published() const;
  // True if hold() may bring a change.
  [[nodiscard]] bool waits() const { return !name_.empty() && !lock_; }

 private:
  spool::fs::path root_;
  std::string name_;
  sys::Fd lock_;
};

// HostMeasuring: lets one supervisor of a host measure the host and tell the others about its
// health.
//
// The supervisor that holds a lock samples the host; the others wait for their turn. The holder
// writes into the lock's file which of its host listeners lack values, so that every run reports
// that. Used by the spooler's thread, and before and after it by the main thread.
class HostMeasuring {
 public:
  // Without a lock's name (host_lock_name) it never measures.
  HostMeasuring(spool::fs::path spool_root, std::string lock_name)
      : lock_(std::move(spool_root), std::move(lock_name)) {}

  // Tries to get the lock. True: this supervisor measures from now on; call begin() once the
  // samplers know it.
  bool try_begin();
  // Tells the others which values this supervisor's listeners lack. Returns this run's own health,
  // which replaces that of the former holder.
  std::vector<codec::Health> begin();
  [[nodiscard]] bool measures() const { return measures_; }
  [[nodiscard]] bool waits() const { return lock_.waits(); }
  // Lets another supervisor measure, for good.
  void release() { lock_.release(); }

  // Notes the health of this supervisor's listeners; the health of host listeners is passed to the
  // others.
  void share(std::span<const codec::Health> news);
  // Returns changes that the measuring supervisor has noted; empty in that supervisor itself.
  std::vector<codec::Health> follow();

 private:
  SamplingLock lock_;
  bool measures_ = false;
  std::map<std::string, codec::Health> own_;  // this supervisor's listeners of the host, by part
  std::map<std::string, codec::Health> lacking_;  // parts that lack values, as the holder noted
};

}  // namespace corral::run
