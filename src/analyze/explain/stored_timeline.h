// The timeline of a run from its store.
//
// Steps and epochs alone are read in a third of the time of all phases: they tell which lanes
// train, when, and in how many units. Sources: the run's phases. Any thread.
#pragma once

#include <cstddef>
#include <functional>

#include "analyze/explain/timeline.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

// A run with more phases is not explained: 32 bytes each are held, twice that of devices' phases.
inline constexpr std::size_t kMostExplainedPhases = 2U << 20U;

inline constexpr std::size_t kPhasesBetweenLooks = 1U << 14U;  // at who waits

struct TimelineReading {
  bool units_only = false;
  Left left = {};
  std::function<void(const store::page::PhaseFields&)> also = {};  // is given each of the phases
};

// Phases that are open end with the run, or at its newest data. kTooLarge: there are too many.
Result<Timeline> read_timeline(store::Reading& reading, const store::Run& run,
                               const TimelineReading& options);
// In a snapshot of its own.
Result<Timeline> read_timeline(const store::Reader& store, const store::Run& run,
                               const TimelineReading& options);

}  // namespace corral::analyze
