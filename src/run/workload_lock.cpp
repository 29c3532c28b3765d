#include "run/workload_lock.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "collect/sampler/listeners.h"
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
  // The file is removed while the lock is held: another process that opened it sees in hold() that
  // it is gone.
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

// The file is never shorter than a whole line while others read: the rest of an older line follows
// the new one.
void SamplingLock::say(const std::string& line) const {
  if (!lock_) return;
  const std::string text = line + '\n';
  const ssize_t written = ::pwrite(lock_.get(), text.data(), text.size(), 0);
  if (written == std::ssize(text)) [[maybe_unused]]
    const int cut = ::ftruncate(lock_.get(), written);
}

std::optional<std::string> SamplingLock::said() const {
  constexpr std::size_t kMostBytes = 64u << 10;
  if (name_.empty()) return std::nullopt;
  const auto root = sys::PrivateDirectory::open(root_);
  const auto text = root ? root->read_file(name_, kMostBytes) : tl::unexpected(root.error());
  if (!text || text->find('\n') == std::string::npos) return std::nullopt;
  return text->substr(0, text->find('\n'));
}

}  // namespace corral::run
