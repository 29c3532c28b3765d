#include "run/workload_lock.h"

#include <sys/stat.h>
#include <unistd.h>

namespace corral::run {

WorkloadLock::~WorkloadLock() {
  if (lock_)
    ::unlink(
        path_.c_str());  // while it is held: who opened the old file sees below that it is gone
}

bool WorkloadLock::hold() {
  if (lock_) return true;
  auto lock = sys::try_lock_file(path_);
  if (!lock) return false;
  // The former holder may have unlinked the file between our open and our lock.
  struct stat held {};
  struct stat named {};
  const bool same = ::fstat(lock->get(), &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
                    held.st_ino == named.st_ino;
  if (same) lock_ = std::move(*lock);
  return same;
}

}  // namespace corral::run
