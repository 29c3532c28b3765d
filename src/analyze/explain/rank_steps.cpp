#include "analyze/explain/rank_steps.h"

#include <algorithm>

namespace corral::analyze {
namespace {

void shift(std::vector<RankStep>& steps, const std::string& host, const HostClocks& clocks) {
  for (RankStep& step : steps) {
    for (UtcTime* time : {&step.begin, &step.end, &step.backward, &step.call, &step.next})
      if (*time != RankStep::kNever) *time = clocks.shift(host, *time);
  }
}

}  // namespace

std::vector<RankStep> find_rank_steps(const Timeline& timeline, std::size_t lane) {
  std::vector<RankStep> steps;
  const std::span<const TimelinePhase> phases = timeline.phases(lane);
  steps.reserve(static_cast<std::size_t>(
      std::ranges::count_if(phases, [&](const auto& phase) { return timeline.is_unit(phase); })));
  for (const TimelinePhase& phase : phases) {
    const bool inside = !steps.empty() && phase.begin < steps.back().end;
    if (timeline.is_unit(phase) && !inside) {
      if (!steps.empty()) steps.back().next = phase.begin;
      steps.push_back({.begin = phase.begin, .end = phase.end, .next = phase.end});
    } else if (inside && timeline.text(phase.name) == "backward") {
      steps.back().backward = std::min(steps.back().backward, phase.begin);
    } else if (inside && phase.kind == codec::PhaseKind::kComm) {
      steps.back().call = std::min(steps.back().call, phase.begin);
    }
  }
  if (steps.empty()) return steps;
  const Window window{.from = steps.front().begin, .to = steps.back().next};
  std::size_t k = 0;
  walk_leaves(phases, window, [&](UtcTime begin, UtcTime end, const TimelinePhase* phase) {
    while (k + 1 < steps.size() && steps[k + 1].begin <= begin) ++k;
    if (phase == nullptr) return;
    RankStep& step = steps[k];
    if (phase->kind == codec::PhaseKind::kComm) step.comm += end - begin;
    if (phase->kind != codec::PhaseKind::kWait) return;
    step.wait += end - begin;
    if (end <= step.entry()) step.wait_before += end - begin;
  });
  const std::string& name = timeline.lane(lane);
  shift(steps, name.substr(0, name.find('/')), timeline.clocks());
  return steps;
}

}  // namespace corral::analyze
