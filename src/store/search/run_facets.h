// Facets of a run search: the number of found runs per value. Used by find_runs.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "store/search/find_runs.h"

namespace corral::store::tracking {

// The parts of a question that a run misses: a bit for each choice by its place, and one for the
// rest.
using Misses = std::uint64_t;
inline constexpr Misses kOutside = Misses{1} << 63;
constexpr Misses miss_of(std::size_t choice) { return Misses{1} << choice; }

// `misses`: by row of the table.
Result<> count_facets(RunTable& table, const RunQuestion& question,
                      const std::vector<Misses>& misses, FoundRuns& found);

}  // namespace corral::store::tracking
