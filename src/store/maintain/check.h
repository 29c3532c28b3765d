// check_store: reads everything in a store and reports every fault: every checksum (frames in batch
// rows, row groups, blocks and their times, pyramid rows, statistics), and every invariant between
// them (docs/store.md).
//
// Reads only, beside any number of writers, in snapshots of a few seconds; memory holds one session
// and a few hundred blocks. Damage is a finding, not an error. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/finding.h"
#include "store/maintain/watch.h"

namespace corral::store::maintain {

struct CheckReport {
  std::vector<Finding> findings;  // the first thousand
  std::size_t problems = 0;       // all of them
  // The rows that were read.
  std::int64_t runs = 0, sessions = 0, series = 0, batches = 0, row_groups = 0, blocks = 0,
               pyramid_rows = 0;
};

// An error: the store cannot be read at all, or `watch` asked to stop.
Result<CheckReport> check_store(sql::Connection& db, const Watch& watch);

}  // namespace corral::store::maintain
