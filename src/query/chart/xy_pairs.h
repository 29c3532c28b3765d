// Pairs the points of two series, so that one can be drawn over the other.
//
// By step: a point of y with the point of x at the same step; where a step came more than once (a
// training that resumed), with the one nearest in time. By time: with the last point of x at or
// before it, unless that lies more than ten usual (median) spacings of x back. Pairs come in the
// order of y's time. Of more than `most` points together the pairs are the means of both in
// kMaxGridColumns equal columns of their common steps or time. Sources: one PointView; its thread.
// Memory: about 60 bytes a point, of at most `most`.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/result.h"
#include "query/chart/path_reduce.h"
#include "query/series/axis_cells.h"
#include "query/series/cursor.h"
#include "store/store.h"

namespace corral::query {

enum class PairBy : std::uint8_t { kStep, kTime };

struct PairRequest {
  SeriesInput x, y;
  PairBy by = PairBy::kStep;
  std::int64_t from = std::numeric_limits<std::int64_t>::min();  // UTC, ns; half open
  std::int64_t to = std::numeric_limits<std::int64_t>::max();
  std::uint64_t most = std::uint64_t{1} << 21;
};

struct Pairs {
  // Finite. Cut where steps go back, beside points that are not finite, and by time where x is
  // missing. Of means by step the times are 0.
  std::vector<PathPoint> path = {};
  std::uint64_t unpaired = 0;    // points of y without one of x
  std::uint64_t not_finite = 0;  // pairs of which one is not
  bool exact = true;             // every pair is one point of each
  Lost lost = {};
};

Result<Pairs> pair_up(store::PointView& view, const PairRequest& request);

}  // namespace corral::query
