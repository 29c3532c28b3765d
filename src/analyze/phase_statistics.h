// A run's time by its phases: figures of all phases that have the same lane
// and the same path of names ("epoch", "step", "data wait").
//
// Pure. A path is made of the names of a phase's parents and its own; parents that are not there
// end it, and so does a chain that is longer than kMostPathNames or leads back to itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/tables/phases.h"

namespace corral::analyze {

inline constexpr std::size_t kMostPathNames = 64;

struct PathStatistics {
  std::string lane;
  std::vector<std::string> path;  // from the outermost parent to the phases' own name
  std::int64_t count = 0;         // phases of which some time lies in the window
  std::int64_t open = 0;          // phases among them without an end
  Nanos total{0};                 // in the window; of an open one, up to its end
  // Over each phase that has ended; nothing when none has.
  std::int64_t ended = 0;
  double mean_s = 0, min_s = 0, max_s = 0;
  std::optional<double> deviation_s;  // sample standard deviation; nullopt below two values
};

// The greatest total first. The window has both its ends.
std::vector<PathStatistics> phase_statistics(std::span<const store::page::PhaseSpan> phases,
                                             const store::page::PhaseWindow& window);

}  // namespace corral::analyze
