#include "analyze/interval_mean.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace corral::analyze {

Result<IntervalMean> interval_mean(store::PointView& view, const query::SeriesInput& input,
                                   std::span<const TimeSpan> spans) {
  std::vector<TimeSpan> longest(spans.begin(), spans.end());
  std::ranges::sort(longest, std::greater<>(), &TimeSpan::length);
  longest.resize(std::min(longest.size(), kMostSpans));
  query::IntegralOptions options;
  options.rule = input.channel == store::Channel::kRate ? query::IntegralRule::kBackward
                                                        : query::IntegralRule::kTrapezoid;
  options.max_points = 1'000'000;
  IntervalMean sum;
  for (const TimeSpan& span : longest) {
    if (span.start >= span.end) continue;
    const auto one = TRY(query::integrate(view, {.series = {input},
                                                 .grid = {.axis = query::GridAxis::kTime,
                                                          .from = ns_of(span.start),
                                                          .to = ns_of(span.end),
                                                          .columns = 1},
                                                 .options = options}));
    const query::IntegralCell& cell = one.front().cells.front();
    sum.add({.integral = cell.integral, .covered = cell.covered});
  }
  return sum;
}

}  // namespace corral::analyze
