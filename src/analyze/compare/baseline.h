// Baseline: how many times the values of runs are those of a baseline, for lists of runs. Each run
// stands for itself, also one that was beside others; groups are compared by compare.h.
// Sources: those of read_units. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/compare/ratio.h"
#include "analyze/compare/unit_value.h"

namespace corral::analyze {

struct BaselineValue {
  std::string unit;
  std::size_t counted = 0;          // runs of the baseline that have it
  std::optional<double> mean = {};  // geometric
  // 95 % of runs like these lie between: Student's t on the logarithms, for one further value. NaN:
  // fewer than two count, or some were beside others.
  double low = LogRatio::kNone, high = LogRatio::kNone;
  std::string reason = {};  // why there is no mean
};

struct FromBaseline {
  std::optional<double> value, ratio;
  bool outside = false;     // below low or above high
  std::string reason = {};  // why there is no ratio
};

struct BaselineRow {
  RunId run;
  std::vector<FromBaseline> values;  // parallel to those of the question
};

struct BaselineQuestion {
  std::span<const store::Run> baseline, runs;  // with all their facts
  std::span<const ComparedValue> values;
  Left left = {};
};

struct BaselineAnswer {
  std::vector<BaselineValue> values;  // parallel to those of the question
  std::vector<BaselineRow> runs;
};
Result<BaselineAnswer> compare_with_baseline(const store::Reader& store,
                                             const BaselineQuestion& question);

// Units of one run each. Pure.
BaselineValue judge_baseline(std::span<const UnitValue> units);
FromBaseline judge_against(const BaselineValue& baseline, UnitValue unit);

}  // namespace corral::analyze
