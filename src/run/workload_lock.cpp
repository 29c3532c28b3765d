#include "run/workload_lock.h"

#include <sys/stat.h>
#include <unistd.h>

namespace corral::run {

WorkloadLock::~WorkloadLock() {
  if (!lock_) return;
  // While it is held: another process that opened the old file sees in hold() that it is gone.
  if (const auto root = sys::PrivateDirectory::open(root_)) root->remove(name_);
}

bool WorkloadLock::hold() {
  if (lock_) return true;
  const auto root = sys::PrivateDirectory::open(root_);
  if (!root) return false;
  auto lock = root->try_lock_file(name_);
  if (!lock) return false;
  // The former holder may have unlinked the file between our open and our lock.
  struct stat held {};
  const auto named = root->facts(name_);
  const bool same = ::fstat(lock->get(), &held) == 0 && named && held.st_ino == named->st_ino;
  if (same) lock_ = std::move(*lock);
  return same;
}

}  // namespace corral::run
