// Centred windows of query/smooth.h: Gaussian and running mean, from sums and counts of cells. Not
// for others.
#pragma once

#include "query/series/smooth.h"

namespace corral::query {

Result<SmoothedSeries> smooth_window(store::PointView& view, const SeriesInput& input,
                                     const SmoothRequest& request);

}  // namespace corral::query
