// Checks that a run's phases are whole, for `corral show --check-trace`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

struct PhaseCheck {
  store::PhaseCounts counts;
  // Phases that overlap another one of their lane without nesting; lanes of all of a run's traces,
  // or of all of radT's threads, are no lanes of one thread and not counted.
  std::int64_t overlaps = 0;
  std::vector<std::string> problems;  // in words; empty: all is well
};

// An open phase of a run that still runs is no problem. Streamed: memory does not grow.
Result<PhaseCheck> check_phases(const store::Reader& store, RunId run);

}  // namespace corral::analyze
