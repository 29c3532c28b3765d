// Groups: one line with a band out of the series of many runs, resampled to one grid.
//
// The unit is the owner of a series: a run, or the workload that a host's or device's series belong
// to. An owner counts once, however many of its runs were chosen, and so does a series that is
// given twice. Per column a unit has one value, the mean of its points. A unit with several sources
// (two GPUs) has the sum of theirs if the catalogue allows sums and each source has points there;
// their mean if it allows none. With kSharedOnce a physical thing that several workloads measured
// at the same time is one unit (`thing` equal and `first`..`last` overlapping); its value is the
// mean of their measurements.
//
// A unit without points in a column is a hole there: no value is held over, and `n` counts the
// units with one. On request, holes of up to `max_hole` columns between two columns of the same
// source are filled by a straight line.
// The interval is Student's t over the unit values (half width t(1/2 + c/2, n - 1) s / sqrt(n)),
// and only over repetitions of one another, never over points of one run. Values have the unit of
// the series. Pure functions, any thread; cost: sources x columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "metric/catalogue.h"
#include "query/series/resample.h"

namespace corral::analyze {

struct GroupMember {
  const query::ResampledSeries* series =
      nullptr;                       // its id identifies equal things; outlives the call
  std::string owner;                 // id of the run or workload that it belongs to
  std::string thing;                 // kSharedOnce: host and source; else not used
  std::int64_t first = 0, last = 0;  // kSharedOnce: when it was seen, ns UTC
};

struct GroupRequest {
  std::vector<GroupMember> members;
  metric::Aggregation aggregation = metric::Aggregation::kMean;
  bool repetitions = false;  // the members' owners repeat one another
  double confidence = 0.95;  // in (0, 1)
  std::uint32_t max_hole = 0;
};

enum class IntervalReason : std::uint8_t {
  kGiven,           // in each column with n >= 2
  kNotRepetitions,  // the owners do not repeat one another
  kTooFew,          // one unit: nothing to compare
};
std::string_view interval_reason_text(IntervalReason reason);

// One entry per column in each; NaN where there is nothing.
struct GroupAnswer {
  std::uint32_t units = 0;              // in the whole group
  std::uint32_t counted_once = 0;       // members left out or merged because they are the same
  std::vector<std::uint32_t> n;         // units with a value
  std::vector<std::uint32_t> filled;    // units whose value is interpolated
  std::vector<double> mean, low, high;  // over the unit values; low and high are min and max
  std::vector<double> deviation;        // sample standard deviation (n - 1) of the unit values
  std::vector<double> interval;         // half the width around the mean
  std::vector<double> least, greatest;  // min and max of all points of all members
  std::vector<double> sum;              // over the unit values; empty when sums make no sense
  // Quartiles of the unit values, linearly interpolated between them (NumPy's default).
  std::vector<double> lower_quartile, median, upper_quartile;
  IntervalReason reason = IntervalReason::kGiven;
  bool exact = true;  // every member was resampled exactly
  std::uint64_t not_finite = 0;
};

// kInvalidArgument: no member, different numbers of columns, confidence outside (0, 1).
Result<GroupAnswer> aggregate_group(const GroupRequest& request);

}  // namespace corral::analyze
