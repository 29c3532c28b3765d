#include "cli/bench_plan.h"

#include <algorithm>

#include "analyze/split_mix.h"

namespace corral::cli {

std::vector<PlannedPair> plan_pairs(const std::vector<std::size_t>& settings, std::size_t pairs,
                                    std::uint64_t seed) {
  analyze::SplitMix random(seed);
  std::vector<PlannedPair> plan;
  for (std::size_t number = 0; number < pairs; number += 2) {
    std::vector<PlannedPair> round;
    round.reserve(settings.size());
    for (const std::size_t setting : settings)
      round.push_back({.setting = setting, .number = number, .on_first = random.below(2) == 1});
    for (std::size_t i = round.size(); i > 1; --i) std::swap(round[i - 1], round[random.below(i)]);
    plan.insert(plan.end(), round.begin(), round.end());
    if (number + 1 == pairs) break;
    std::ranges::reverse(round);
    for (PlannedPair& pair : round) {
      ++pair.number;
      pair.on_first = !pair.on_first;
    }
    plan.insert(plan.end(), round.begin(), round.end());
  }
  return plan;
}

}  // namespace corral::cli
