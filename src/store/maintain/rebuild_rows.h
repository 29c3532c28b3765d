// Single rows of a series' pyramid, made anew from the tier below or from the few blocks under
// them: what sealing needs at once, whatever the length of the series.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/finding.h"

namespace corral::store::maintain {

// In the caller's transaction: the last row of every tier and channel, those that sealing reads and
// extends, is there afterwards with the buckets that the series' blocks give it; good ones stay as
// they are. Damaged blocks are findings, gaps, and an event of their runs. kCorruption: there is
// more to make than kMostRows, which is a rebuild's affair.
Result<> rebuild_last_rows(sql::Connection& db, Findings& findings, SeriesId id);
inline constexpr int kMostRows = 64;

}  // namespace corral::store::maintain
