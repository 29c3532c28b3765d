// Reads all that a view holds of a series, and checks the levels against each other.
#pragma once

#include <cstddef>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/faults/script.h"
#include "store/model/point_view.h"

namespace corral::store::faults {

struct SeriesReading {
  std::vector<ScriptPoint> points;  // block after block, then the points outside of blocks
  std::size_t damaged = 0;          // unreadable blocks, pyramid rows and other rows
  std::size_t blocks = 0;
};

// kInternal: a block or a bucket of the pyramid is wrong.
Result<SeriesReading> read_series(PointView& view, SeriesId series);

}  // namespace corral::store::faults
