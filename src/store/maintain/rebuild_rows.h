// Single rows of a series' pyramid, recomputed from the tier below or from the few blocks under
// them. Sealing needs them at once, so the cost does not depend on the length of the series.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/finding.h"

namespace corral::store::maintain {

// Remakes, in the caller's transaction, the last row of every tier and channel, which sealing reads
// and extends, from the blocks of the series. Good rows stay as they are. Damaged blocks become
// findings, gaps, and an event of their runs. kCorruption: more than kMostRows rows are to be made,
// which needs a rebuild.
Result<> rebuild_last_rows(sql::Connection& db, Findings& findings, SeriesId id);
inline constexpr int kMostRows = 64;

}  // namespace corral::store::maintain
