// Integrals over time and time-weighted means of many series, per column of a grid over time.
//
// Between consecutive points of one session the value is a line (kTrapezoid), the earlier point's
// (kForward: a setting that holds until it is changed) or the later one's (kBackward: a rate or a
// power that was averaged since the previous reading). A stretch of the line that crosses a column
// border is cut there, so columns add up to the whole. Gaps are not integrated: stretches longer
// than `max_gap`, beside a point that is not finite, or between sessions. `covered` is the number
// of integrated seconds. Sessions that overlap in time count each, except those of a host's series,
// which measured the same machine and count once. A rate under kBackward holds since the sample
// that it is the difference to (codec/block/rate.h), so the integral over everything is the sum of
// the counter's increments. Units: the series' times seconds (W -> J).
//
// Up to `max_points` points the answer is exact. Beyond, it says that it is estimated: a stretch
// inside a bucket is the bucket's mean times its length, bounded by min and max times its length.
// Sessions and gaps inside of buckets are then not distinguished, except resets and first samples
// of a counter, with up to kMostOpened points around them. Sources: one PointView; its thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "query/series/axis_cells.h"
#include "query/series/cursor.h"
#include "store/model/point_view.h"

namespace corral::query {

// Points of buckets that hold samples without a rate, read one by one in an estimate.
inline constexpr std::uint64_t kMostOpened = std::uint64_t{1} << 20U;

enum class IntegralRule : std::uint8_t { kTrapezoid, kForward, kBackward };

// A rate holds since the sample before.
constexpr IntegralRule usual_rule(store::Channel channel) {
  return channel == store::Channel::kRate ? IntegralRule::kBackward : IntegralRule::kTrapezoid;
}

struct IntegralOptions {
  IntegralRule rule = IntegralRule::kTrapezoid;
  Nanos max_gap = std::chrono::hours(1);  // positive
  std::uint64_t max_points = 10'000'000;  // per series, within max_gap around the grid
};

struct IntegralCell {
  double integral = 0;         // unit * s
  double covered = 0;          // s
  double least = 0, most = 0;  // the integral lies between; equal to it when exact
  // NaN when nothing is covered.
  [[nodiscard]] double mean() const;
};

struct IntegralSeries {
  SeriesId id;
  std::vector<IntegralCell> cells;  // one per column
  bool exact = true;
  Lost lost;
};

struct IntegralRequest {
  std::vector<SeriesInput> series;
  AxisGrid grid;  // over time
  IntegralOptions options;
};

// kInvalidArgument: the grid, or one over steps.
Result<std::vector<IntegralSeries>> integrate(store::PointView& view,
                                              const IntegralRequest& request);

}  // namespace corral::query
