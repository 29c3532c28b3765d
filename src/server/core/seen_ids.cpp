#include "server/core/seen_ids.h"

#include <fmt/format.h>

namespace corral::server {
namespace {

std::string before(const store::Access& access, std::string_view id) {
  return fmt::format("{} {}", id, fmt::join(access.hidden(), " "));
}

}  // namespace

bool SeenIds::has(const store::Access& access, std::string_view id) {
  return kept_.with([&](const Kept& kept) {
    return std::chrono::steady_clock::now() - kept.since < kLongest &&
           kept.ids.contains(before(access, id));
  });
}

void SeenIds::add(const store::Access& access, std::string_view id) {
  kept_.with([&](Kept& kept) {
    const auto now = std::chrono::steady_clock::now();
    if (now - kept.since >= kLongest || kept.ids.size() == kMost) kept = {.since = now, .ids = {}};
    kept.ids.insert(before(access, id));
  });
}

void SeenIds::age(Nanos time) {
  kept_.with([&](Kept& kept) { kept.since -= time; });
}

}  // namespace corral::server
