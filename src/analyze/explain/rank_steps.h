// The steps of one lane, to compare ranks with each other: when each begins, when it enters its
// backward pass, and its waits and calls between ranks.
//
// Steps are in order, and those inside another step are not counted. A step's period ends where the
// next one begins, the last one's with the step. In a run without steps its epochs count. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analyze/explain/leaves.h"

namespace corral::analyze {

struct RankStep {
  UtcTime begin, end;
  std::optional<UtcTime> backward = {};  // begins
  std::optional<UtcTime> call = {};      // the first one between ranks begins
  UtcTime next;                          // its period ends
  Nanos wait{0}, comm{0};                // leaves of these kinds in its period
  Nanos wait_before{0};                  // those before `backward`, or without it before `call`

  [[nodiscard]] Nanos period() const { return next - begin; }
  // When the rank needs the others first, if that is known.
  [[nodiscard]] std::optional<UtcTime> entry() const { return backward ? backward : call; }
};

std::vector<RankStep> find_rank_steps(const Timeline& timeline, std::size_t lane);

}  // namespace corral::analyze
