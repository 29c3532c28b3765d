// Series made of series that were resampled to one grid: the ratio of two.
//
// Each column holds the mean of one series divided by the mean of the other, or NaN where one of
// them has no points. For two rates this is the ratio of the two counts (bytes per operation). The
// unit is that of the first per that of the second. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "query/series/resample.h"

namespace corral::analyze {

struct Ratio {
  std::vector<double> values;           // one per column
  std::uint32_t columns = 0;            // with a value
  std::uint32_t only_one = 0;           // columns where one of the two has points
  std::uint32_t zero_denominators = 0;  // columns left empty because the divisor is 0 there
  bool exact = false;                   // both were
};

// kInvalidArgument: different numbers of columns.
Result<Ratio> ratio_of(const query::ResampledSeries& numerator,
                       const query::ResampledSeries& denominator);

}  // namespace corral::analyze
