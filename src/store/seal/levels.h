// The levels of a store: reads what plans of seals are made from (plan.h), inside the caller's
// snapshot, and carries plans out.
#pragma once

#include <cstdint>
#include <optional>

#include "codec/block/pyramid.h"
#include "store/engine/database.h"
#include "store/model/point_view.h"
#include "store/seal/plan.h"

namespace corral::store::sql {

struct PyramidKey {
  SeriesId series;
  Channel channel = Channel::kValue;
  int tier = 0;
  std::int64_t no = 0;
  auto operator<=>(const PyramidKey&) const = default;
};
// kNotFound, kCorruption.
Result<codec::PyramidRow> read_pyramid_row(Connection& db, const PyramidKey& key);

// Inside the caller's transaction. kConflict: something that the plan was made from has changed
// (another sealer, a deletion); the caller rolls back and forgets the plan.
Result<> write_plan(Connection& db, const SealPlan& plan);

// Batch rows of a session, at most about 32 MiB of them, sealed to row groups of that state;
// nothing when there is none. Damaged ones are set aside.
Result<std::optional<SealPlan>> plan_batches(Connection& db, std::int64_t session,
                                             RowGroupState state);

struct SliceKey {
  std::int64_t session = 0;
  std::int64_t slice = 0;
};
// kSettled: every row group of the slice becomes one. kOpen: blocks when a series may have enough
// points for one, else row groups of like size become one when there are 16 of them, else nothing.
Result<std::optional<SealPlan>> plan_row_groups(Connection& db, const SliceKey& key,
                                                RowGroupState state);
// Rows that nobody seals: batch rows, and open row groups (where other servers are: of runs that
// have ended).
struct SeenRows {
  std::int64_t batch = 0, row_group = 0;  // the newest
};
struct LeftOver {
  std::vector<std::int64_t> sessions;
  SeenRows newest;
  bool shared = false;  // other servers use this database
};
// If there are other servers: of what was there when `seen` was looked up.
Result<LeftOver> find_left_over_rows(Connection& db, const SeenRows& seen);

Result<std::vector<std::int64_t>> read_slices(Connection& db, std::int64_t session);

}  // namespace corral::store::sql
