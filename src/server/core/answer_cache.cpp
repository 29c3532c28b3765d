#include "server/core/answer_cache.h"

#include <algorithm>
#include <utility>

namespace corral::server {

std::optional<std::string> AnswerCache::find(std::string_view key) {
  const auto oldest = std::chrono::steady_clock::now() - longest_;
  return kept_.with([&](std::list<Kept>& kept) -> std::optional<std::string> {
    std::erase_if(kept, [&](const Kept& one) { return one.since < oldest; });
    const auto found = std::ranges::find(kept, key, &Kept::key);
    if (found == kept.end()) return std::nullopt;
    kept.splice(kept.begin(), kept, found);
    return found->body;
  });
}

void AnswerCache::keep(std::string key, std::string body) {
  Kept added{.key = std::move(key), .body = std::move(body), .since = {}};
  if (added.bytes() > kMostBytes) return;
  added.since = std::chrono::steady_clock::now();
  kept_.with([&](std::list<Kept>& kept) {
    std::erase_if(kept, [&](const Kept& one) { return one.key == added.key; });
    kept.push_front(std::move(added));
    std::size_t bytes = 0;
    const auto full = std::ranges::find_if(
        kept, [&](const Kept& one) { return (bytes += one.bytes()) > kMostBytes; });
    kept.erase(full, kept.end());
  });
}

void AnswerCache::age(Nanos time) {
  kept_.with([&](std::list<Kept>& kept) {
    for (Kept& one : kept) one.since -= time;
  });
}

}  // namespace corral::server
