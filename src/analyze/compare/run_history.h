// RunHistory: how a value changed from run to run and commit to commit, and where.
// docs/history.md defines every number.
//
// The values of a group's units (unit_value.h) are put in the order of their starts. PELT proposes
// where their mean changed (explain/change_points.h). Then the proposals that do not hold are taken
// back, the weakest first: Student's t between the segments beside them must have a p below 0.0001,
// the change must exceed the margin, and most values must be nearer to their own mean. Single
// outliers count as the median around them.
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
  std::string commit;   // its first run's; empty: not recorded
  std::size_t segment;  // only with a value
};

// Values between two changes.
struct HistorySegment {
  std::size_t begin = 0, end = 0;  // among the values that count
  double mean = 0;                 // geometric
  double low = 0, high = 0;        // 95 % of it; NaN below two values
};

struct HistoryChange {
  std::size_t segment = 0;  // that begins with it
  RatioInterval ratio;      // its segment by the one before, 95 %
  bool confirmed = false;   // else suspected: fewer than kSureRuns values follow
  std::optional<bool> worse;
  // Among the last and first kSureRuns units around it.
  std::vector<SetUpDifference> set_up;
  std::string text;  // a sentence
};

struct RunHistory {
  std::string name, unit;
  std::vector<HistoryUnit> units;    // by start; those without a value, too
  std::vector<std::size_t> counted;  // indices of units with a value
  std::vector<HistorySegment> segments;
  std::vector<HistoryChange> changes;  // by time
};

struct HistoryOptions {
  ComparedValue value;
  double margin = 0.02;
  std::optional<bool> less_is_better;  // a metric's; times are better if they are less
  Left left = {};
};

Result<RunHistory> read_run_history(const store::Reader& store, const GroupRuns& group,
                                    const HistoryOptions& options);

// Indices at which a segment begins, but for the first; ascending. Pure.
std::vector<std::size_t> find_run_changes(std::span<const double> logs, double margin);

}  // namespace corral::analyze
