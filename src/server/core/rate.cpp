#include "server/core/rate.h"

#include <algorithm>

namespace corral::server {

std::optional<std::chrono::seconds> Rate::take(std::string_view key, BootTime now) {
  const Lock lock(mutex_);
  if (full_at_.size() >= kMostKeys && !full_at_.contains(key)) {
    if (now >= swept_ + std::chrono::seconds(1)) {
      std::erase_if(full_at_, [&](const auto& bucket) { return bucket.second <= now; });
      swept_ = now;
    }
    if (full_at_.size() >= kMostKeys) key = "";
  }
  const auto at = full_at_.find(key);
  const BootTime before = at == full_at_.end() ? now : std::max(at->second, now);
  // Positive: with this one, more would be missing than the bucket holds.
  const Nanos over = before + pause_ - now - pause_ * burst_;
  if (over > Nanos(0)) return std::chrono::ceil<std::chrono::seconds>(over);
  full_at_.insert_or_assign(std::string(key), before + pause_);
  return std::nullopt;
}

}  // namespace corral::server
