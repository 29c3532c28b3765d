// Target: a value of a metric that runs should reach, and which group's runs reach it sooner.
// docs/compare.md defines every number.
//
// A run reaches it with its first own value that meets it, unsmoothed. One that ended before is a
// miss: how long it would have taken is not known, but for that it is longer than the run. Times
// are compared by their ranks, misses tied above all of them; means up to the shortest miss are
// shown beside. Both would need to know more where a miss ended before another run reached it: then
// there is no verdict. Sources: Mann and Whitney (1947), by all permutations up to 100 times;
// Royston and Parmar (2013) for restricted means. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

struct Target {
  enum class Is : std::uint8_t { kAtLeast, kAbove, kAtMost, kBelow };
  std::string metric;
  Is is = Is::kAtLeast;
  double bound = 0;  // finite
  [[nodiscard]] bool meets(double value) const;
};
// "val_acc >= 0.9"; nullopt: no metric, none of >= > <= <, or no number.
std::optional<Target> parse_target(std::string_view text);
std::string print_target(const Target& target);

// Found in a run's own values; damaged points are left out.
struct TargetSearch {
  bool has_values = false;
  std::optional<UtcTime> reached;
};
Result<TargetSearch> search_target(const store::Reader& store, RunId run, const Target& target);

struct TargetTime {
  double seconds = 0;  // a miss: how long it lasted
  bool reached = false;
  std::string_view name = {};
};

struct TargetDifference {
  std::size_t reached_a = 0, reached_b = 0, a = 0, b = 0;  // times, misses among a and b
  double budget_s = 0;                // that of the shortest miss; without one the longest time
  double mean_a_s = 0, mean_b_s = 0;  // up to the budget
  double p = 1;                       // two-sided; 1 if there is a problem
  double later = 0;                   // mean rank of B's times less that of A's
  double least_p = 1;                 // that so many times could have
  std::string problem = {};           // why nothing can be said, a sentence; empty: it can
};
// Both sides have a time.
TargetDifference compare_times(std::span<const TargetTime> a, std::span<const TargetTime> b);

// The rank sum test of two samples; equal values are ties.
struct RankTest {
  double p = 1;      // two-sided
  double later = 0;  // mean rank of b less that of a
};
RankTest rank_test(std::span<const double> a, std::span<const double> b);
// Adjusts the p-values of a family by Holm's steps.
std::vector<double> adjust_by_holm(std::span<const double> p);

}  // namespace corral::analyze
