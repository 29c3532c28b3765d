#include "server/core/seen_ids.h"

#include <fmt/format.h>

#include <utility>

namespace corral::server {
namespace {

std::string before(const store::Access& access, std::string_view id) {
  return fmt::format("{}\n{}", fmt::join(access.hidden(), " "), id);
}

}  // namespace

bool SeenIds::has(const store::Access& access, std::string_view id) {
  const std::string key = before(access, id);
  return kept_.with([&](const Kept& kept) {
    return std::chrono::steady_clock::now() - kept.since < kLongest && kept.ids.contains(key);
  });
}

void SeenIds::add(const store::Access& access, std::string_view id) {
  std::string key = before(access, id);
  kept_.with([&](Kept& kept) {
    const auto now = std::chrono::steady_clock::now();
    if (now - kept.since >= kLongest || kept.ids.size() == kMost) kept = {.since = now, .ids = {}};
    kept.ids.insert(std::move(key));
  });
}

void SeenIds::age(Nanos time) {
  kept_.with([&](Kept& kept) { kept.since -= time; });
}

}  // namespace corral::server
