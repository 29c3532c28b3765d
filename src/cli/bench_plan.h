// In which order the pairs of all settings are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace corral::cli {

struct PlannedPair {
  std::size_t setting = 0, number = 0;
  bool on_first = false;
};

// Rounds of two pairs of each setting: all settings in a random order and then back, a setting's
// second pair the other way round than its first (off on, on off: ABBA, or BAAB), so that a drift
// of the machine falls on both sides alike. The same seed gives the same order.
std::vector<PlannedPair> plan_pairs(const std::vector<std::size_t>& settings, std::size_t pairs,
                                    std::uint64_t seed);

}  // namespace corral::cli
