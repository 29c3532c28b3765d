#include "run/record/host_measuring.h"

#include <utility>

#include "collect/sampler/listeners.h"
#include "core/json.h"

namespace corral::run {
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

std::string line_of(const std::map<std::string, codec::Health>& parts) {
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
std::optional<std::map<std::string, codec::Health>> parts_of(std::string_view line) {
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

bool HostMeasuring::take_turn() {
  const bool before = std::exchange(measures_, lock_.hold());
  return measures_ && !before;
}

std::vector<codec::Health> HostMeasuring::begin() {
  lock_.say(line_of(own_));
  // Parts that lacked values under the former holder.
  std::vector<codec::Health> news;
  for (const auto& [part, lacked] : std::exchange(told_, {})) {
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
  if (changed && measures_) lock_.say(line_of(own_));
}

std::vector<codec::Health> HostMeasuring::follow() {
  if (measures_ || !lock_.waits()) return {};
  const auto line = lock_.said();
  auto parts = line ? parts_of(*line) : std::nullopt;
  if (!parts || *parts == told_) return {};
  std::vector<codec::Health> news;
  for (const auto& [part, health] : *parts) {
    const auto known = told_.find(part);
    if (known == told_.end() || known->second != health) news.push_back(health);
  }
  for (const auto& [part, health] : told_) {
    if (!parts->contains(part)) news.push_back({.part = part});
  }
  told_ = *std::move(parts);
  return news;
}

}  // namespace corral::run
