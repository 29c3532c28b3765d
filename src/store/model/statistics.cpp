#include "store/model/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

namespace corral::store {

namespace {

double comparable(double value) { return std::isnan(value) ? 0 : value; }

}  // namespace

bool TopPoint::below(const TopPoint& other) const {
  return std::tuple(step, time, comparable(value)) <
         std::tuple(other.step, other.time, comparable(other.value));
}

bool TopPoint::operator==(const TopPoint& other) const {
  return step == other.step && time == other.time &&
         std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(other.value);
}

void SeriesDelta::add(std::int64_t time, std::optional<std::int64_t> step, double value) {
  const TopPoint point{.step = step.value_or(0), .time = time, .value = value};
  if (points == 0 || top.below(point)) top = point;
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

void SeriesDelta::add(const SeriesDelta& later) {
  if (later.points == 0) return;
  if (points == 0) {
    *this = later;
    return;
  }
  if (later.first_time < first_time) {
    first_time = later.first_time;
    first_step = later.first_step;
  }
  last_time = std::max(last_time, later.last_time);
  points += later.points;
  nan += later.nan;
  sum += later.sum;
  if (top.below(later.top)) top = later.top;
  if (later.min && (!min || *later.min < *min)) min = later.min;
  if (later.max && (!max || *later.max > *max)) max = later.max;
  if (later.value_time && (!value_time || *later.value_time >= *value_time)) {
    value_time = later.value_time;
    value_step = later.value_step;
    last = later.last;
  }
}

void add_column(SeriesDelta& delta, const codec::SampleGroup& group, const codec::Column& column,
                const ClockAnchor& anchor) {
  std::size_t next = 0;
  for (std::size_t row = 0; row < group.times.size(); ++row) {
    if (!column.present.empty() && !column.present[row]) continue;
    const auto step = group.steps.empty() ? std::nullopt : std::optional(group.steps[row]);
    delta.add(ns_of(anchor.to_utc(group.times[row])), step, column.values[next++]);
  }
}

}  // namespace corral::store
