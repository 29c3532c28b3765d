// PlanLock: one scheduler per plan. The kernel lets go of it when its holder is gone, however that
// came; the file says who holds it.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "sys/private_directory.h"

namespace corral::run::schedule {

class PlanLock {
 public:
  // kUnavailable names the scheduler that runs the plan: process, host, since when.
  static Result<PlanLock> take(const std::filesystem::path& directory, UtcTime now);
  // Schedulers of this host that run other plans than this one, whose directories lie beside it.
  static std::vector<std::string> others(const std::filesystem::path& directory);
  // The scheduler that runs the plan, in the same words; empty: nobody does.
  static std::string holder(const std::filesystem::path& directory);

 private:
  explicit PlanLock(sys::Fd file) : file_(std::move(file)) {}
  sys::Fd file_;
};

}  // namespace corral::run::schedule
