// reduce: one series of a PointView to the M4 columns of a pixel width, aligned or exact.
//
// Both descend the pyramid from its top. A bucket that lies wholly in one column is taken whole.
// One that a border cuts is descended, by an exact answer down to the points; an aligned one stops
// where a bucket is no wider than a part of a column. Points outside the range are never in the
// answer, and of those inside all are counted. Damage is told apart in the answer, never as an
// error. Reads only the view; one thread per view.
#pragma once

#include "query/chart/m4/request.h"
#include "store/model/point_view.h"

namespace corral::query::m4 {

// kIo and the like of the view.
Result<ChartSeries> reduce(store::PointView& view, const Request& request);

}  // namespace corral::query::m4
