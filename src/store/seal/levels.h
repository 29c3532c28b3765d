// The levels above batch rows: reads of rows by key, and the writing of a plan.
#pragma once

#include <cstdint>

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

}  // namespace corral::store::sql
