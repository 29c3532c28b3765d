// RunHistory: how a value changed from run to run and commit to commit, and where.
// docs/history.md defines every number.
//
// The values of a group's units (unit_value.h) are put in the order of their starts and cut into
// the segments that leave the least squared differences to their means, with a penalty for each.
// Then the changes that do not hold are taken back, the weakest first: Student's t between the
// segments beside them must have a p below 0.0001, the change must exceed the margin, and most
// values must be nearer to their own mean. Outliers count as the median around them, in the means
// too.
//
// Sources: those of read_units. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/compare/ratio.h"
#include "analyze/compare/set_up.h"
#include "analyze/compare/unit_value.h"

namespace corral::analyze {

inline constexpr std::size_t kSureRuns = 8;  // so many after a change confirm it

struct HistoryUnit {
  UnitValue value;
  std::string commit;    // its first run's; empty: not recorded
  std::size_t segment;   // only with a value
  bool outlier = false;  // counts as the median around it
  bool beyond = false;   // one of the limits
};

// Values between two changes.
struct HistorySegment {
  std::size_t begin = 0, end = 0;  // among the values that count
  double mean = 0;                 // geometric
  double low = 0, high = 0;        // 95 % of it; NaN below two values
};

// Between two segments, not always neighbours.
struct HistoryChange {
  std::size_t before = 0, after = 0;  // the segments
  // Among the values that count: the last that is surely before it, and the first surely after it.
  std::size_t last_before = 0, first_after = 0;
  RatioInterval ratio;     // after by before, 95 %
  bool confirmed = false;  // else suspected: fewer than kSureRuns values follow
  std::optional<bool> worse;
  // Among the kSureRuns units before the first place and after the last one.
  std::vector<SetUpDifference> set_up;
  std::string text;  // a sentence
};

struct RunHistory {
  std::string name, unit;
  std::vector<HistoryUnit> units;    // by start; those without a value, too
  std::vector<std::size_t> counted;  // indices of units with a value
  std::vector<HistorySegment> segments;
  std::vector<HistoryChange> changes;  // by time
  // The newest segment against that of kSureRuns values before the newest one; none: the same.
  std::optional<HistoryChange> newest;
};

struct HistoryOptions {
  ComparedValue value;
  double margin = 0.02;
  std::optional<bool> less_is_better;       // a metric's; times are better if they are less
  std::optional<double> at_least, at_most;  // limits of the values, in their unit
  Left left = {};
};

Result<RunHistory> read_run_history(const store::Reader& store, const GroupRuns& group,
                                    const HistoryOptions& options);

// Values without outliers: more than five standard deviations from the median of the eleven around
// them, by the noise of neighbours and by the deviations of those eleven. Among the newest five
// only single ones between others are outliers. Pure.
std::vector<double> without_outliers(std::span<const double> logs);
// Indices at which a segment of such values begins, but for the first; ascending. O(n^2). Pure.
std::vector<std::size_t> find_run_changes(std::span<const double> clean, double margin);

}  // namespace corral::analyze
