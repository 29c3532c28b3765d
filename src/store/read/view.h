// The PointView of an SQL store: reads through one connection inside the caller's snapshot, and
// keeps recently decoded rows in caches that all views of the store share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "codec/frame.h"
#include "store/engine/database.h"
#include "store/model/point_view.h"
#include "store/read/level_cache.h"
#include "store/seal/levels.h"

namespace corral::store::sql {

struct Caches {
  using PyramidRowAt = std::pair<PyramidKey, std::int64_t>;  // and how many buckets it has
  using BlockAt = std::pair<SeriesId, std::int64_t>;
  LevelCache<std::int64_t, std::vector<codec::SamplesBody>> batches{48u << 20};  // by row
  LevelCache<PyramidRowAt, codec::PyramidRow> pyramid{48u << 20};
  LevelCache<BlockAt, Block> blocks{32u << 20};
};

// `db` and `caches` must outlive the view.
Result<std::unique_ptr<PointView>> open_view(Connection& db, Caches& caches,
                                             std::span<const SeriesId> series);

// The samples of a batch row, from the cache if they are there. kNotFound, kCorruption.
Result<std::shared_ptr<const std::vector<codec::SamplesBody>>> read_samples(Connection& db,
                                                                            Caches& caches,
                                                                            std::int64_t row);

}  // namespace corral::store::sql
