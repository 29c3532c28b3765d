#include "collect/foreign/problems.h"

#include <algorithm>

namespace corral::collect::foreign {

void ProblemBox::State::change(std::string_view source, std::string reason) {
  health.push_back(
      {.part = "source." + std::string(source),
       .state = reason.empty() ? metric::HealthState::kActive : metric::HealthState::kPartial,
       .reason = std::move(reason)});
}

void ProblemBox::expect(std::string_view source) {
  state_.with([&](State& state) { state.change(source, "no value has come yet"); });
}

void ProblemBox::heard(std::string_view source) {
  state_.with([&](State& state) {
    if (!state.troubled(source)) state.change(source, "");
  });
}

std::vector<metric::Health> ProblemBox::take_health() {
  return state_.with([](State& state) { return std::exchange(state.health, {}); });
}

bool ProblemBox::State::troubled(std::string_view source) const {
  return std::ranges::any_of(told, [&](const auto& item) { return item.first == source; });
}

void ProblemBox::report(std::string_view source, Trouble trouble, std::string message) {
  state_.with([&](State& state) {
    if (!state.told.emplace(std::string(source), trouble).second) return;
    state.change(source, message);
    state.fresh.push_back({.source = std::string(source), .message = std::move(message)});
  });
}

void ProblemBox::recovered(std::string_view source, Trouble trouble, std::string_view message) {
  state_.with([&](State& state) {
    if (state.told.erase({std::string(source), trouble}) == 0) return;
    state.fresh.push_back(
        {.source = std::string(source), .message = std::string(message), .recovered = true});
    if (!state.troubled(source)) state.change(source, "");
  });
}

std::vector<Problem> ProblemBox::take() {
  return state_.with([](State& state) { return std::exchange(state.fresh, {}); });
}

}  // namespace corral::collect::foreign
