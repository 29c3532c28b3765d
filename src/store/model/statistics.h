// Running statistics of a series: the changes by one append, gathered without reading from the
// database.
//
// Times are UTC nanoseconds. Ties in time go to the point that came later for `last` and to the
// earlier one for `first`. min, max, sum and last are over finite values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "codec/block/row_group.h"
#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::store {

// The point with the greatest (step, time, value), the first of equal ones: what MLflow calls a
// metric's latest value. NaN counts as 0 and no step as 0 in the comparison.
struct TopPoint {
  std::int64_t step = 0;
  std::int64_t time = 0;  // UTC, ns
  double value = 0;

  [[nodiscard]] bool below(const TopPoint& other) const;
  bool operator==(const TopPoint& other) const;  // NaN equals NaN
};

struct SeriesDelta {
  std::int64_t points = 0;
  std::int64_t nan = 0;  // NaN and infinities
  std::int64_t first_time = 0, last_time = 0;
  std::optional<std::int64_t> first_step;
  std::optional<std::int64_t> value_time, value_step;  // time and step of the newest finite value
  std::optional<double> last, min, max;
  double sum = 0;
  TopPoint top;  // valid if there are points

  void add(std::int64_t time, std::optional<std::int64_t> step, double value);
  // Adds `later`, the statistics of points that arrived after these.
  void add(const SeriesDelta& later);
  bool operator==(const SeriesDelta&) const = default;
};

// From the session's id of a series to the store's.
using SeriesMap = std::unordered_map<std::uint32_t, SeriesId>;

// Adds a column of the group.
void add_column(SeriesDelta& delta, const codec::SampleGroup& group, const codec::Column& column,
                const ClockAnchor& anchor);

// Statistics of the series of a slice, over everything of it that is above the batch rows
// (docs/format-block.md, "Slice statistics").
using SliceStatistics = std::map<SeriesId, SeriesDelta>;

// Adds what the columns say; times ascend in each group.
void add_groups(SliceStatistics& statistics, std::span<const codec::SamplingGroup> groups);

std::string encode_statistics(const SliceStatistics& statistics);
Result<SliceStatistics> decode_statistics(std::span<const std::uint8_t> bytes);
// Calls `take` for each of the series that are `wanted`, by ascending id, and decodes no other row.
// Errors of both are kCorruption and kUnsupported.
Result<> read_statistics_of(std::span<const std::uint8_t> bytes, const std::set<SeriesId>& wanted,
                            const std::function<void(SeriesId, const SeriesDelta&)>& take);

}  // namespace corral::store
