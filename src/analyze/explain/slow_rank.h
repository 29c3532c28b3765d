// The slow rank: the one that others wait for in most steps, because it enters its backward pass
// late.
//
// A rank's lateness in a step is the begin of its first backward pass, or without one that of its
// first call between ranks, minus that of the earliest rank. Steps are matched by their
// order. Ranks of different hosts are compared if the clocks of all hosts are known; the
// lateness must then exceed three times the error of that, too.
// Ranks that already wait for each other in the forward pass look equally late. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/explain/leaves.h"

namespace corral::analyze {

struct SlowRank {
  std::string lane;
  std::int64_t rank = 0;
  double late_s = 0;       // median over the steps
  double share = 0;        // part of its median step, 0 to 1
  std::int64_t steps = 0;  // that were compared
  bool by_call = false;    // some by their first call between ranks
  Nanos clock_error{0};    // bound of the error of late_s; 0: all ranks have one clock
  std::string text;        // one sentence
};

// Compares the training lanes over the steps that begin in the window. nullopt: no rank is late by
// more than 5 % of a step, or fewer than ten steps of two ranks can be compared.
std::optional<SlowRank> find_slow_rank(const Timeline& timeline, std::span<const LaneLeaves> lanes,
                                       Window window);
// Hosts whose ranks cannot be compared with those of other hosts.
std::vector<std::string> hosts_without_clock(const Timeline& timeline,
                                             std::span<const LaneLeaves> lanes);

}  // namespace corral::analyze
