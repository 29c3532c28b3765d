// DeviceLocks: locks of this machine's schedulers on devices, for all users: a flock on one file
// for each device.
//
//   <directory>/corral-<device>.lock   flock: held while its holder works; the text names it
//
// "cpus" is the lock of the host's CPU sets. A lock ends with its holder; the file stays.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::collocate {

namespace fs = std::filesystem;

class DeviceLocks {
 public:
  // Returns /run/lock, else /tmp: the same for all users of this machine. $CORRAL_LOCKS for tests,
  // which must not wait for each other.
  static fs::path machine_directory();

  // Takes all locks or none, in a fixed order, so that two schedulers never wait for each other.
  // kUnavailable names each locked device and its holder. `holder` is the text for others:
  // "plan.csv, workload 7".
  static Result<DeviceLocks> take(const fs::path& directory, std::vector<std::string> devices,
                                  const std::string& holder);

  DeviceLocks() = default;
  void release() { files_.clear(); }

 private:
  std::vector<sys::Fd> files_;
};

}  // namespace corral::collocate
