// The steady part of a run: after the warm-up, in which steps are slower (compilation, caches,
// autotuning) or faster.
//
// Step lengths of each training lane, without the checkpoints, evaluations and compilations in
// them, are cut where their mean changes. The last segment, and those before it that differ by less
// than 1 % or one standard deviation, are steady. The latest cut of all ranks is the run's. A run
// that changed within its last quarter, or last 50 steps, is not steady. Below 50 steps all epochs
// but the first are taken. After Barrett et al., "Virtual Machine Warmup Blows Hot and Cold"
// (2017). In a run without steps, all of this is said of its epochs. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/explain/leaves.h"

namespace corral::analyze {

inline constexpr std::size_t kFewSteps = 50;

// A kind of its own, whose time is not that of a step: a checkpoint, evaluation or compilation.
bool is_apart(std::string_view name);

// Index of the first steady one of step lengths in s; their number if they are not steady.
std::size_t find_steady_step(std::span<const double> lengths);

struct SteadyPart {
  Window window;
  Unit unit = Unit::kStep;  // counted as steps
  bool steady = false;
  std::string reason;         // why it is not, a clause
  std::int64_t left_out = 0;  // steps before it, of the lane with most
  std::int64_t steps = 0;     // in it, of the lane with fewest
  double mean_s = 0;          // mean length of its steps
  double deviation_s = 0;     // sample standard deviation; 0 below two steps
};

// `lanes` of the timeline are the training lanes; `run` is its time.
SteadyPart find_steady_part(const Timeline& timeline, std::span<const std::size_t> lanes,
                            Window run);

}  // namespace corral::analyze
