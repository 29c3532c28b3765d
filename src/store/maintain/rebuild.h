// rebuild_store: makes anew what can be made from points: the pyramid of every series and the
// statistics of every slice.
//
// A series is one transaction, a session another; where it was is kept in `meta`, so that what was
// killed goes on there. A damaged block stays as it is and reads as a gap; the pyramid says the
// same (8,192 points that are not a number), and its runs get an event. Statistics of a slice are
// kept where points under them are damaged and they are not: they know more. The caller holds the
// store's lock, and no server has the store; were there one all the same, it would make a rebuild
// begin a series or session again, and after some attempts fail (kConflict), but lose nothing. One
// thread; memory as check_store.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/finding.h"
#include "store/maintain/watch.h"

namespace corral::store::maintain {

struct RebuildReport {
  std::vector<Finding> gaps;  // damaged blocks and row groups
  std::size_t problems = 0;
  std::int64_t series = 0, pyramid_rows = 0, slices = 0;  // made by this call
  bool continued = false;
};

// `anew`: does not go on where an earlier one was ended.
Result<RebuildReport> rebuild_store(sql::Connection& db, bool anew, const Watch& watch);

}  // namespace corral::store::maintain
