#include "query/points.h"

#include <algorithm>

namespace corral::query {
namespace {

// False when the walk is to end.
bool walk_column(const codec::SampleGroup& group, const codec::Column& column,
                 const std::function<bool(const Point&)>& take, Point point,
                 const ClockAnchor& anchor) {
  std::size_t next = 0;
  for (std::size_t row = 0; row < group.times.size(); ++row) {
    if (!column.present.empty() && !column.present[row]) continue;
    point.time = ns_of(anchor.to_utc(group.times[row]));
    point.step = group.steps.empty() ? std::nullopt : std::optional(group.steps[row]);
    point.value = column.values[next++];
    if (!take(point)) return false;
  }
  return true;
}

bool walk_batch(const store::Batch& batch, const codec::SamplesBody& samples,
                const std::function<bool(const Point&)>& take) {
  for (const codec::SampleGroup& group : samples.groups) {
    for (const codec::Column& column : group.columns) {
      const auto known = std::ranges::lower_bound(batch.series, column.series, {},
                                                  [](const auto& pair) { return pair.first; });
      if (known == batch.series.end() || known->first != column.series) continue;
      const Point point{.series = known->second,
                        .session = batch.frame.header.session,
                        .time = 0,
                        .step = std::nullopt,
                        .value = 0};
      if (!walk_column(group, column, take, point, batch.anchor)) return false;
    }
  }
  return true;
}

}  // namespace

Result<> walk_points(store::Store& store, const store::BatchQuery& query,
                     const std::function<bool(const Point&)>& take) {
  Result<> problem;
  TRY(store.batches(query, [&](const store::Batch& batch) {
    const auto samples = codec::decode_samples(batch.frame);
    if (!samples) {
      problem = fail(Code::kCorruption,
                     "batch row " + std::to_string(batch.row) + ": " + samples.error().message);
      return false;
    }
    return walk_batch(batch, *samples, take);
  }));
  return problem;
}

}  // namespace corral::query
