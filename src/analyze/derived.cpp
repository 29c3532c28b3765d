#include "analyze/derived.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace corral::analyze {

Result<Ratio> ratio_of(const query::ResampledSeries& numerator,
                       const query::ResampledSeries& denominator) {
  const std::size_t columns = numerator.cells.size();
  if (columns != denominator.cells.size()) {
    return fail(Code::kInvalidArgument,
                fmt::format("a ratio needs two series on one grid, got {} and {} columns", columns,
                            denominator.cells.size()));
  }
  Ratio ratio;
  ratio.values.assign(columns, std::numeric_limits<double>::quiet_NaN());
  ratio.exact = numerator.exact && denominator.exact;
  for (std::size_t i = 0; i < columns; ++i) {
    const query::Cell& above = numerator.cells[i];
    const query::Cell& below = denominator.cells[i];
    if ((above.count > 0) != (below.count > 0)) ++ratio.only_one;
    if (above.count == 0 || below.count == 0) continue;
    if (below.mean() == 0) {
      ++ratio.zero_denominators;
      continue;
    }
    const double value = above.mean() / below.mean();
    if (!std::isfinite(value)) continue;
    ratio.values[i] = value;
    ++ratio.columns;
  }
  return ratio;
}

}  // namespace corral::analyze
