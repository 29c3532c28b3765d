// The steps of one lane, to compare ranks with each other: when each begins, when it enters its
// backward pass, and its waits and calls between ranks.
//
// Times are by the clock of the run's first host, as far as those of its hosts are known
// (host_clocks.h). Steps are in order, and those inside another step are not counted. A step's
// period ends where the next one begins, the last one's with the step. In a run without steps its
// epochs count. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/explain/leaves.h"

namespace corral::analyze {

// 64 bytes: a long run has a million of them.
struct RankStep {
  static constexpr UtcTime kNever = UtcTime::max();
  UtcTime begin, end;
  UtcTime backward = kNever;  // begins
  UtcTime call = kNever;      // the first one between ranks begins
  UtcTime next;               // its period ends
  Nanos wait{0}, comm{0};     // leaves of these kinds in its period
  Nanos wait_before{0};       // those before entry()

  [[nodiscard]] Nanos period() const { return next - begin; }
  // When the rank needs the others first; kNever: that is not known.
  [[nodiscard]] UtcTime entry() const { return backward != kNever ? backward : call; }
};

std::vector<RankStep> find_rank_steps(const Timeline& timeline, std::size_t lane);

}  // namespace corral::analyze
