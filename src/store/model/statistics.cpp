#include "store/model/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <tuple>

#include "codec/block/column.h"
#include "codec/block/pyramid.h"

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

namespace {

constexpr std::size_t kIntegers = 11;
constexpr std::size_t kReals = 5;
constexpr std::int64_t kFirstStep = 1;  // flags
constexpr std::int64_t kValue = 2;
constexpr std::int64_t kValueStep = 4;

std::array<std::int64_t, kIntegers> to_integers(SeriesId id, const SeriesDelta& s) {
  const std::int64_t flags =
      (s.first_step ? kFirstStep : 0) | (s.last ? kValue : 0) | (s.value_step ? kValueStep : 0);
  return {id.value,
          s.points,
          s.nan,
          s.first_time,
          s.last_time,
          flags,
          s.first_step.value_or(0),
          s.value_time.value_or(0),
          s.value_step.value_or(0),
          s.top.step,
          s.top.time};
}

std::array<double, kReals> to_reals(const SeriesDelta& s) {
  return {s.last.value_or(0), s.min.value_or(0), s.max.value_or(0), s.sum, s.top.value};
}

SeriesDelta to_delta(const std::array<std::int64_t, kIntegers>& i,
                     const std::array<double, kReals>& r) {
  SeriesDelta s;
  s.points = i[1];
  s.nan = i[2];
  s.first_time = i[3];
  s.last_time = i[4];
  if ((i[5] & kFirstStep) != 0) s.first_step = i[6];
  if ((i[5] & kValueStep) != 0) s.value_step = i[8];
  s.sum = r[3];
  s.top = {.step = i[9], .time = i[10], .value = r[4]};
  if ((i[5] & kValue) == 0) return s;
  s.value_time = i[7];
  s.last = r[0];
  s.min = r[1];
  s.max = r[2];
  return s;
}

TopPoint top_point(const codec::SamplingGroup& group, std::span<const double> values) {
  TopPoint top;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const TopPoint point{.step = group.steps.empty() ? 0 : group.steps[i],
                         .time = group.times[i],
                         .value = values[i]};
    if (i == 0 || top.below(point)) top = point;
  }
  return top;
}

SeriesDelta to_delta(const codec::SamplingGroup& group, std::span<const double> values) {
  const codec::Bucket bucket = codec::make_bucket(group.times, group.steps, values);
  SeriesDelta s;
  s.points = bucket.count;
  s.nan = bucket.not_finite();
  s.first_time = group.times.front();
  s.last_time = group.times.back();
  s.top = top_point(group, values);
  if (!group.steps.empty()) s.first_step = group.steps.front();
  if (bucket.count == bucket.not_finite()) return s;
  s.value_time = group.times[bucket.last_at];
  if (!group.steps.empty()) s.value_step = group.steps[bucket.last_at];
  s.last = bucket.last;
  s.min = bucket.min;
  s.max = bucket.max;
  s.sum = bucket.sum;
  return s;
}

template <class T>
Result<std::vector<T>> next_column(std::span<const std::uint8_t>& bytes) {
  const auto reader = TRY(codec::ColumnReader<T>::open(bytes));
  bytes = bytes.subspan(reader.bytes());
  return reader.read_all();
}

}  // namespace

void add_groups(SliceStatistics& statistics, std::span<const codec::SamplingGroup> groups) {
  for (const codec::SamplingGroup& group : groups) {
    for (const auto& column : group.columns)
      statistics[column.series].add(to_delta(group, column.values));
  }
}

std::string encode_statistics(const SliceStatistics& statistics) {
  CORRAL_ASSERT(statistics.size() <= codec::kColumnEntries);
  std::array<std::vector<std::int64_t>, kIntegers> integers;
  std::array<std::vector<double>, kReals> reals;
  for (const auto& [id, series] : statistics) {
    const auto i = to_integers(id, series);
    const auto r = to_reals(series);
    for (std::size_t k = 0; k < kIntegers; ++k) integers[k].push_back(i[k]);
    for (std::size_t k = 0; k < kReals; ++k) reals[k].push_back(r[k]);
  }
  std::string out;
  for (const auto& column : integers) codec::append_steps(out, column, codec::Effort::kFast);
  for (const auto& column : reals) codec::append_values(out, column, codec::Effort::kFast);
  return out;
}

Result<SliceStatistics> decode_statistics(std::span<const std::uint8_t> bytes) {
  std::array<std::vector<std::int64_t>, kIntegers> integers;
  std::array<std::vector<double>, kReals> reals;
  for (auto& column : integers) column = TRY(next_column<std::int64_t>(bytes));
  for (auto& column : reals) column = TRY(next_column<double>(bytes));
  const std::size_t n = integers[0].size();
  const auto as_long = [&](const auto& column) { return column.size() == n; };
  if (!std::ranges::all_of(integers, as_long) || !std::ranges::all_of(reals, as_long))
    return fail(Code::kCorruption, "slice statistics: columns differ in length");
  SliceStatistics statistics;
  for (std::size_t row = 0; row < n; ++row) {
    std::array<std::int64_t, kIntegers> i{};
    std::array<double, kReals> r{};
    for (std::size_t k = 0; k < kIntegers; ++k) i[k] = integers[k][row];
    for (std::size_t k = 0; k < kReals; ++k) r[k] = reals[k][row];
    statistics.emplace(SeriesId{i[0]}, to_delta(i, r));
  }
  return statistics;
}

}  // namespace corral::store
