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
#include "store/maintain/blocks.h"
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

// kUnreadable: those whose statistics do not decode; others stay as they are, and are not compared.
enum class Slices : std::uint8_t { kAll, kUnreadable };
// The statistics of a session's slices, recomputed from its row groups and blocks. Inside the
// caller's transaction, with the session's row locked; how many slices were written. Damaged row
// groups are findings. kConflict: another server sealed meanwhile, nothing may be kept of the
// transaction; to be tried again.
Result<std::int64_t> rebuild_slices(sql::Connection& db, Findings& findings, std::int64_t session,
                                    Slices which = Slices::kAll);

// Gives the blocks of a series, in their order, to a PyramidMaker, inside the caller's transaction.
// A block that is damaged or missing becomes a gap, a finding, and once an event of its run.
class BlockFeed {
 public:
  // `first`: gaps in blocks before this one are not reported.
  BlockFeed(sql::Connection& db, Findings& findings, SeriesId id, PyramidMaker& maker,
            std::int64_t first = 0)
      : db_(db), findings_(findings), id_(id), maker_(maker), first_(first) {}

  Result<> add(const StoredBlock& block);
  // Gaps for all blocks before block `next`.
  Result<> add_missing(std::int64_t next);

 private:
  Result<> add_gap(const StoredBlock& block);

  sql::Connection& db_;
  Findings& findings_;
  const SeriesId id_;
  PyramidMaker& maker_;
  const std::int64_t first_;
  std::int64_t reached_ = 0;  // newest time before a gap
};

}  // namespace corral::store::maintain
