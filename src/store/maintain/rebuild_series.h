// The pyramid of a series, made anew from its blocks.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "core/result.h"
#include "store/maintain/finding.h"
#include "store/maintain/watch.h"
#include "store/sql/database.h"

namespace corral::store::maintain {

// Inside the caller's transaction; how many rows were written. Damaged blocks are findings, gaps in
// the pyramid, and an event of their runs.
Result<std::int64_t> rebuild_series(sql::Connection& db, Findings& findings, SeriesId id,
                                    const Watch& watch);

}  // namespace corral::store::maintain
