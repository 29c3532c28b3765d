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
  std::vector<ScriptPoint> points;  // block after block, then what is in none
  std::size_t damaged = 0;          // what could not be read, of blocks, pyramid and the rest
  std::size_t blocks = 0;
};

// kInternal: a block or a bucket of the pyramid says what is not so.
Result<SeriesReading> read_series(PointView& view, SeriesId series);

}  // namespace corral::store::faults
