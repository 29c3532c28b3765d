// Compare: how many times as much one group of runs takes as another, how sure that is, and why.
// docs/compare.md defines every number.
//
// A group is judged by its units (unit_value.h), never by single steps. The first group is the
// baseline: every other one is compared with it, and the family of these comparisons is corrected.
// Units of one plan with one of each group in every block of it are compared as pairs.
// Everything that could confound a comparison is named: other hosts, set-ups that differ, runs that
// did not finish, that were not steady or have rare stalls.
// Sources: those of read_units. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyze/compare/ratio.h"
#include "analyze/compare/set_up.h"
#include "analyze/compare/unit_value.h"

namespace corral::analyze {

inline constexpr double kUsualMargin = 0.02;

struct CompareOptions {
  ComparedValue value;
  // In (0, 1); nullopt: the one that all runs were started with, else kUsualMargin.
  std::optional<double> margin = {};
  Left left = {};
};

struct ComparedGroup {
  std::string name;
  std::vector<UnitValue> units;
  std::size_t counted = 0;            // units with a value
  std::size_t missed = 0;             // units that missed the target
  std::optional<double> mean;         // geometric; of times to a target none
  std::optional<double> least, most;  // values of units
  std::string unit;                   // "s/step"
  std::vector<std::string> warnings;  // sentences
};

// A part of the time per step: means over the units of each side, which are sums over the parts.
struct PartDifference {
  std::string name, type;
  bool apart = false;
  double a_s = 0, b_s = 0;
  [[nodiscard]] double difference() const { return b_s - a_s; }
};

struct MeanDifference {
  std::string metric, source, unit;
  double a = 0, b = 0;
};

struct GroupDifference {
  std::size_t b = 0;  // the group; A is the first one
  LogRatio ratio;
  RatioInterval interval;  // 95 %, by Bonferroni in a family
  RatioTests tests, adjusted;
  std::optional<TargetDifference> target;  // such times have no ratio
  RatioVerdict verdict = RatioVerdict::kTooFew;
  std::optional<std::size_t> more;    // units of each side that the margin's width still lacks
  std::vector<PartDifference> parts;  // the greatest difference first; empty: not known for all
  // Without overlap between the units of the two; the greatest change first.
  std::vector<MeanDifference> means;
  std::vector<SetUpDifference> set_up;
  std::size_t set_up_left_out = 0;
  std::vector<std::string> warnings;  // sentences
  std::string text;                   // one sentence
};

struct Comparison {
  std::string value;  // "time per step"
  bool less_is_better = false;
  double margin = 0;       // NaN: of times to a target
  std::size_t family = 0;  // comparisons that were judged, and corrected together
  bool planned =
      false;  // all runs were started with the tag `corral.margin` of it; else it is post hoc
  double confidence = 0.95;  // 0.95, in a family closer to 1
  std::vector<ComparedGroup> groups;
  std::vector<GroupDifference> differences;
  std::vector<CommonSetUp> set_up;  // common to all runs
};

inline constexpr std::size_t kMostComparedRuns = 2000;  // the caller checks it

// kInvalidArgument: fewer than two groups, an empty one, or a run in two of them.
Result<Comparison> compare_groups(const store::Reader& store, std::span<const GroupRuns> groups,
                                  const CompareOptions& options);

// The margin that all runs were started with (the tag `corral.margin`); nullopt: they have none, or
// several.
std::optional<double> planned_margin_of_all(std::span<const GroupRuns> groups);

// Every metric of the machine that is compared beside the value.
std::span<const std::string_view> compared_metrics();
// The comparison of groups whose units are read. Pure.
Comparison judge_groups(std::vector<ComparedGroup> groups, const CompareOptions& options);

}  // namespace corral::analyze
