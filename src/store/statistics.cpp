#include "store/statistics.h"

#include <cmath>

namespace corral::store {

void SeriesDelta::add(std::int64_t time, std::optional<std::int64_t> step, double value) {
  if (points == 0 || time < first_time) {
    first_time = time;
    first_step = step;
  }
  if (points == 0 || time > last_time) last_time = time;
  ++points;
  if (!std::isfinite(value)) {
    ++nan;
    return;
  }
  sum += value;
  if (!min || value < *min) min = value;
  if (!max || value > *max) max = value;
  if (!value_time || time >= *value_time) {
    value_time = time;
    value_step = step;
    last = value;
  }
}

void add_samples(SeriesDeltas& deltas, const codec::SamplesBody& samples, const SeriesMap& series,
                 const ClockAnchor& anchor) {
  for (const codec::SampleGroup& group : samples.groups) {
    for (const codec::Column& column : group.columns) {
      if (column.values.empty()) continue;
      SeriesDelta& delta = deltas[series.at(column.series)];
      std::size_t next = 0;
      for (std::size_t row = 0; row < group.times.size(); ++row) {
        if (!column.present.empty() && !column.present[row]) continue;
        const auto step = group.steps.empty() ? std::nullopt : std::optional(group.steps[row]);
        delta.add(ns_of(anchor.to_utc(group.times[row])), step, column.values[next++]);
      }
    }
  }
}

}  // namespace corral::store
