#include "run/record/sampling_lock.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "collect/sampler/listeners.h"
#include "core/json.h"
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
void SamplingLock::publish(const std::string& line) const {
  if (!lock_) return;
  const std::string text = line + '\n';
  const ssize_t written = ::pwrite(lock_.get(), text.data(), text.size(), 0);
  if (written == std::ssize(text)) [[maybe_unused]]
    const int cut = ::ftruncate(lock_.get(), written);
}

std::optional<std::string> SamplingLock::published() const {
  constexpr std::size_t kMostBytes = 64u << 10;
  if (name_.empty()) return std::nullopt;
  const auto root = sys::PrivateDirectory::open(root_);
  const auto text = root ? root->read_file(name_, kMostBytes) : tl::unexpected(root.error());
  if (!text || text->find('\n') == std::string::npos) return std::nullopt;
  return text->substr(0, text->find('\n'));
}

namespace {

// True for a listener of the host, and for a device or a pattern, which belong to the host.
bool is_of_host(const codec::Health& health) {
  const std::string_view name = std::string_view(health.part).substr(health.part.find('.') + 1);
  const collect::ListenerEntry* entry = collect::find_listener(name);
  return entry == nullptr || entry->owner == metric::Owner::kHost;
}

bool lacks_values(const codec::Health& health) {
  return health.state == codec::HealthState::kPartial ||
         health.state == codec::HealthState::kGivenUp;
}

std::string to_line(const std::map<std::string, codec::Health>& parts) {
  Json::Array lacking;
  for (const auto& [part, health] : parts) {
    if (!lacks_values(health)) continue;
    const bool partial = health.state == codec::HealthState::kPartial;
    lacking.push_back(Json::Object{
        {"part", Json(part)}, {"partial", Json(partial)}, {"reason", Json(health.reason)}});
  }
  return Json(std::move(lacking)).dump();
}

// Nullopt if the line has another form.
std::optional<std::map<std::string, codec::Health>> parse_line(std::string_view line) {
  const auto json = Json::parse(line);
  const Json::Array* all = json ? json->as_array() : nullptr;
  if (all == nullptr) return std::nullopt;
  std::map<std::string, codec::Health> parts;
  for (const Json& one : *all) {
    const Json* partial = one.find("partial");
    const bool some = partial != nullptr && partial->as_bool() != nullptr && *partial->as_bool();
    parts[one.get_string("part")] = {
        .part = one.get_string("part"),
        .state = some ? codec::HealthState::kPartial : codec::HealthState::kGivenUp,
        .reason = one.get_string("reason")};
  }
  return parts;
}

}  // namespace

bool HostMeasuring::try_begin() {
  const bool before = std::exchange(measures_, lock_.hold());
  return measures_ && !before;
}

std::vector<codec::Health> HostMeasuring::begin() {
  lock_.publish(to_line(own_));
  // Parts that lacked values under the former holder.
  std::vector<codec::Health> news;
  for (const auto& [part, lacked] : std::exchange(lacking_, {})) {
    const auto known = own_.find(part);
    news.push_back(known != own_.end() ? known->second : codec::Health{.part = part});
  }
  return news;
}

void HostMeasuring::share(std::span<const codec::Health> news) {
  bool changed = false;
  for (const codec::Health& health : news) {
    if (!is_of_host(health)) continue;
    own_[health.part] = health;
    changed = true;
  }
  if (changed && measures_) lock_.publish(to_line(own_));
}

std::vector<codec::Health> HostMeasuring::follow() {
  if (measures_ || !lock_.waits()) return {};
  const auto line = lock_.published();
  auto parts = line ? parse_line(*line) : std::nullopt;
  if (!parts || *parts == lacking_) return {};
  std::vector<codec::Health> news;
  for (const auto& [part, health] : *parts) {
    const auto known = lacking_.find(part);
    if (known == lacking_.end() || known->second != health) news.push_back(health);
  }
  for (const auto& [part, health] : lacking_) {
    if (!parts->contains(part)) news.push_back({.part = part});
  }
  lacking_ = *std::move(parts);
  return news;
}

}  // namespace corral::run
