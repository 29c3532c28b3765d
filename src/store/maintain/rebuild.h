// rebuild_store: recomputes from points the pyramid of every series and the statistics of every
// slice.
//
// Each series and each session is one transaction. The progress is kept in `meta`, so that a killed
// rebuild continues from there. A damaged block stays as it is and reads as a gap; the pyramid
// shows the same gap (8,192 points that are not a number), and the runs of the block get an event.
// Intact statistics of a slice are kept if points of the slice are damaged, because they cover more
// points. The caller holds the store's lock, and no server has the store. If a server has it
// nevertheless, the rebuild begins a series or session again and fails after some attempts
// (kConflict), but no data is lost. One thread; memory as check_store.
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

// `anew`: starts from the beginning even if an earlier rebuild was interrupted.
Result<RebuildReport> rebuild_store(sql::Connection& db, bool anew, const Watch& watch);

}  // namespace corral::store::maintain
