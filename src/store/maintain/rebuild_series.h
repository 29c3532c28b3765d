// The pyramid of a series, recomputed from its blocks.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/finding.h"
#include "store/maintain/stored_blocks.h"
#include "store/maintain/watch.h"

namespace corral::store::maintain {

// Runs inside the caller's transaction and returns the number of rows written. Damaged blocks
// become findings, gaps in the pyramid, and an event of their runs. If the row of the series counts
// far more blocks than exist (kMostMissing), the count is corrected.
Result<std::int64_t> rebuild_series(sql::Connection& db, Findings& findings, SeriesId id,
                                    const Watch& watch);

// Reports a block that cannot be read: as a finding, and once as an event in the run of its
// session. `time`: time of the block; 0: not known.
Result<> tell_of_gap(sql::Connection& db, Findings& findings, SeriesId id, const StoredBlock& block,
                     std::int64_t time);

}  // namespace corral::store::maintain
