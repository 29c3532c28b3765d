#include "codec/health.h"

#include <algorithm>

#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::codec {
namespace {

std::string string_attribute(const Attributes& attributes, std::string_view key) {
  const auto found =
      std::ranges::find_if(attributes, [&](const auto& item) { return item.first == key; });
  if (found == attributes.end()) return {};
  const auto value = Json::parse(found->second);
  if (!value || value->as_string() == nullptr) return {};
  return *value->as_string();
}

std::string json_text(std::string text, std::size_t most) {
  if (text.size() > most) text.resize(utf8_prefix(std::string_view(text).substr(0, most)));
  return Json(std::move(text)).dump();
}

}  // namespace

Event health_event(BootTime time, const Health& health) {
  const std::string_view state = kHealthStates.at(static_cast<std::size_t>(health.state));
  Attributes attributes = {{"part", json_text(to_utf8(health.part), limits::kNameBytes)},
                           {"state", Json(state).dump()}};
  if (!health.reason.empty())
    attributes.emplace_back("reason", json_text(to_utf8(health.reason), 1000));
  return {.time = time,
          .name = std::string(kHealthEvent),
          .origin = "corral",
          .attributes = std::move(attributes)};
}

std::optional<Health> health_of(const Attributes& attributes) {
  const std::string state = string_attribute(attributes, "state");
  const auto* const known = std::ranges::find(kHealthStates, std::string_view(state));
  Health health{.part = string_attribute(attributes, "part"),
                .state = static_cast<HealthState>(known - kHealthStates.begin()),
                .reason = string_attribute(attributes, "reason")};
  if (known == kHealthStates.end() || health.part.empty()) return std::nullopt;
  return health;
}

}  // namespace corral::codec
