// HostMeasuring: lets one supervisor of a host measure the host and tell the others about its
// health.
//
// The supervisor that holds a lock samples the host; the others wait for their turn. The holder
// writes into the lock's file which of its host listeners lack values, so that every run reports
// that. Used by the spooler's thread, and before and after it by the main thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/health.h"
#include "run/workload_lock.h"

namespace corral::run {

class HostMeasuring {
 public:
  // Without a lock's name (host_lock_name) it never measures.
  HostMeasuring(spool::fs::path spool_root, std::string lock_name)
      : lock_(std::move(spool_root), std::move(lock_name)) {}

  // Tries to get the lock. True: this supervisor measures from now on; call begin() once the
  // samplers know it.
  bool take_turn();
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
  std::map<std::string, codec::Health> own_;   // this supervisor's listeners of the host, by part
  std::map<std::string, codec::Health> told_;  // parts that lack values, as the holder noted
};

}  // namespace corral::run
