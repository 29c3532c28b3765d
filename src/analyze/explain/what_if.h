// Bounds of the mean step time that a run would have without its waits, or with balanced ranks. A
// model from the leaves of its steady part, never a measurement.
//
// Without waits, lower bound: nothing remains of them, and the training threads have a CPU whenever
// they are ready; their delays are taken to be spread evenly over that time. Upper bound, where the
// waits are for CPU time: the run's whole CPU time is spent beside the rest of the step and never
// at the same time, on all CPUs that it could have. Upper bound otherwise: nothing is gained.
//
// Several ranks go on together: a step takes as long as its slowest rank. Calls between ranks may
// hide in the backward pass. A rank's own time is then not known, and the fastest rank gives the
// lower bound.
//
// Balanced ranks: each needs the mean of their own times instead of the greatest. Upper bound: the
// arithmetic mean (unequal work); lower bound: the harmonic one (unequal speed). Units: seconds.
// Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "analyze/explain/bottleneck.h"
#include "analyze/explain/leaves.h"
#include "analyze/explain/run_data.h"

namespace corral::analyze {

struct Prediction {
  struct Bounds {
    double lower_s = 0, upper_s = 0;
  };
  std::optional<Bounds> step;  // nullopt: it does not apply
  std::string reason;          // why it does not apply, or why its upper bound is what was observed
};

struct WhatIf {
  Unit unit = Unit::kStep;
  double step_s = 0;       // observed: the mean time from one step's begin to the next one's
  std::int64_t steps = 0;  // that it is of
  Prediction without_waits, balanced_ranks;
  std::string text;  // a sentence for each that applies
};

// CPU time for which a run without its waits competes.
struct CpuDemand {
  std::optional<double> used;  // cores of the run; nullopt: its waits are not known to be for CPUs
  double available = 0;        // cores that it could have, at least `used`
  double delayed = 0;          // share of the time that a training thread could run: it had no CPU
};
CpuDemand find_cpu_demand(std::span<const LaneLeaves> lanes, const RunData& data,
                          const GivenToRun& given, const std::optional<Bottleneck>& bottleneck);

// Over the steps of the training lanes that begin in the window. `remaining`: the part of the waits
// that is left, 0 to 1. nullopt: no lane trains, or its steps do not match.
std::optional<WhatIf> find_what_if(const Timeline& timeline, std::span<const LaneLeaves> lanes,
                                   Window window, const CpuDemand& cpu, double remaining = 0);

}  // namespace corral::analyze
