#include "analyze/compare/baseline.h"

#include <cmath>
#include <utility>

#include "analyze/student_t.h"

namespace corral::analyze {
namespace {

constexpr double kConfidenceOfRange = 0.95;

Result<UnitValue> read_alone(const store::Reader& store, const store::Run& run,
                             const UnitOptions& options) {
  TRY(check_waiting(options.left));
  return std::move(TRY(read_units(store, std::span(&run, 1), options)).front());
}

}  // namespace

BaselineValue judge_baseline(std::span<const UnitValue> units) {
  BaselineValue found;
  std::vector<double> logs;  // ratios to the first value
  double first = 0;
  bool alone = true;
  for (UnitValue unit : units) {
    if (unit.value && found.unit.empty()) found.unit = unit.unit;
    drop_other_unit(unit, found.unit);
    alone = alone && unit.beside == 0;
    if (unit.value) {
      if (logs.empty()) first = *unit.value;
      logs.push_back(std::log(*unit.value / first));
    } else if (found.reason.empty()) {
      found.reason = unit.reason;
    }
  }
  found.counted = logs.size();
  if (logs.empty()) return found;
  found.reason.clear();
  const LogRatio of_logs = log_ratio_of_pairs(logs);
  found.mean = first * std::exp(of_logs.log);
  if (!alone || std::isnan(of_logs.error)) return found;
  const double n = static_cast<double>(logs.size());
  const double half = student_t_quantile(0.5 + kConfidenceOfRange / 2, of_logs.degrees) *
                      of_logs.deviation * std::sqrt(1 + 1 / n);
  found.low = first * std::exp(of_logs.log - half);
  found.high = first * std::exp(of_logs.log + half);
  return found;
}

FromBaseline judge_against(const BaselineValue& baseline, UnitValue unit) {
  if (baseline.mean) drop_other_unit(unit, baseline.unit);
  FromBaseline found{
      .value = unit.value ? unit.value : unit.measured, .ratio = {}, .reason = unit.reason};
  if (!unit.value) return found;
  if (!baseline.mean) {
    found.reason = "the baseline has none: " + baseline.reason;
    return found;
  }
  found.ratio = *unit.value / *baseline.mean;
  found.outside = *unit.value < baseline.low || *unit.value > baseline.high;
  return found;
}

Result<BaselineAnswer> compare_with_baseline(const store::Reader& store,
                                             const BaselineQuestion& question) {
  BaselineAnswer answer;
  for (const store::Run& run : question.runs) answer.runs.push_back({.run = run.id, .values = {}});
  for (const ComparedValue& value : question.values) {
    const UnitOptions options{.value = value, .left = question.left};
    std::vector<UnitValue> units;
    for (const store::Run& run : question.baseline)
      units.push_back(TRY(read_alone(store, run, options)));
    answer.values.push_back(judge_baseline(units));
    for (std::size_t i = 0; i < question.runs.size(); ++i)
      answer.runs[i].values.push_back(
          judge_against(answer.values.back(), TRY(read_alone(store, question.runs[i], options))));
  }
  return answer;
}

}  // namespace corral::analyze
