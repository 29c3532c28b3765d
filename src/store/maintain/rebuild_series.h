// The pyramid of a series, made anew from its blocks.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/finding.h"
#include "store/maintain/stored_blocks.h"
#include "store/maintain/watch.h"

namespace corral::store::maintain {

// Inside the caller's transaction; how many rows were written. Damaged blocks are findings, gaps in
// the pyramid, and an event of their runs. A series whose row says far more blocks than there are
// (kMostMissing) has afterwards those that are there.
Result<std::int64_t> rebuild_series(sql::Connection& db, Findings& findings, SeriesId id,
                                    const Watch& watch);

// Tells of a block that cannot be read: a finding, and, once, an event in the run of its session.
// `time`: where it stands; 0, not known.
Result<> tell_of_gap(sql::Connection& db, Findings& findings, SeriesId id, const StoredBlock& block,
                     std::int64_t time);

}  // namespace corral::store::maintain
