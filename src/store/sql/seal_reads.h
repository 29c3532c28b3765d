// What a sealer reads, inside the caller's snapshot (store/seal/plan.h says what becomes of it).
#pragma once

#include <cstdint>
#include <optional>

#include "store/seal/plan.h"
#include "store/sql/database.h"

namespace corral::store::sql {

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
Result<std::vector<std::int64_t>> slices_of(Connection& db, std::int64_t session);

}  // namespace corral::store::sql
