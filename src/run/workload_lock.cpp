#include "run/workload_lock.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "collect/listener.h"
#include "core/sha256.h"

namespace corral::run {

std::string workload_lock_name(WorkloadId workload) {
  return "workload-" + workload.hex() + ".lock";
}

std::string host_lock_name(const spool::Manifest& manifest,
                           std::span<const std::string> listeners) {
  std::string measured;
  for (const std::string& name : listeners) {
    const collect::ListenerEntry* entry = collect::find_listener(name);
    if (entry != nullptr && entry->owner == metric::Owner::kHost) measured += '\0' + name;
  }
  if (measured.empty() || manifest.machine.empty()) return {};
  const Sha256 hash =
      sha256(manifest.destination.store.string() + '\0' + manifest.destination.server + measured);
  WorkloadId id;
  std::copy_n(hash.begin(), id.bytes.size(), id.bytes.begin());
  return "host-" + id.hex() + ".lock";
}

void SamplingLock::release() {
  const std::string name = std::exchange(name_, {});
  if (!lock_) return;
  // While it is held: another process that opened the old file sees in hold() that it is gone.
  if (const auto root = sys::PrivateDirectory::open(root_)) root->remove(name);
  lock_.reset();
}

bool SamplingLock::hold() {
  if (lock_) return true;
  if (name_.empty()) return false;
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
