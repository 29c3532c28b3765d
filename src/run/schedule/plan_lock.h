// PlanLock: allows one scheduler for each plan. The kernel releases it when its holder is gone for
// any reason; the file names the holder.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "sys/private_directory.h"

namespace corral::run::schedule {

class PlanLock {
 public:
  // kUnavailable names the scheduler that runs the plan: process, host, start time.
  static Result<PlanLock> take(const std::filesystem::path& directory, UtcTime now);
  // Returns the schedulers of this host that run other plans, whose directories lie beside this
  // one.
  static std::vector<std::string> others(const std::filesystem::path& directory);
  // Returns the scheduler that runs the plan, in the same words; empty: none does.
  static std::string holder(const std::filesystem::path& directory);

 private:
  explicit PlanLock(sys::Fd file) : file_(std::move(file)) {}
  sys::Fd file_;
};

}  // namespace corral::run::schedule
