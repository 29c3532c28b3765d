// Ratios of positive measurements: how many times as much one side takes as the other, how sure
// that is, and whether the two are equivalent within a margin.
//
// Everything is computed on natural logarithms, so that ratios are those of geometric means, and
// exchanging the sides gives the reciprocal. Two groups are compared by Welch's t; pairs, which
// only a design makes (the same block of a plan, off and on), by Student's t on their log ratios.
// A margin m stands for the bounds [1 / (1 + m), 1 + m]. Two one-sided tests at 5 % are the same as
// asking whether the 90 % interval lies inside them. Not being significantly different is no
// equivalence: an interval that crosses a bound decides nothing. The bootstrap (percentiles of
// resampled means) assumes no distribution and is the cross-check for pairs.
//
// Sources: Welch (1947); Schuirmann (1987) for the two tests; Holm (1979) and Shaffer (1986) for
// families. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace corral::analyze {

// There is one value or more; the exponential of it is their geometric mean.
double mean_of_logs(std::span<const double> logs);

// The ratio of B by A as a difference of logarithms.
struct LogRatio {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double log = kNone;        // NaN: a side has no values
  double error = kNone;      // standard error; NaN: fewer than two pairs, or values on a side
  double degrees = kNone;    // degrees of freedom
  double deviation = kNone;  // pairs: s of their logarithms; groups: the root of s_a² + s_b²
  std::size_t a = 0, b = 0;  // values; pairs count on both sides
  bool paired = false;
};
LogRatio log_ratio_of_groups(std::span<const double> logs_a, std::span<const double> logs_b);
LogRatio log_ratio_of_pairs(std::span<const double> log_ratios);

// A ratio of geometric means and its interval; NaN where there are too few values.
struct RatioInterval {
  double mean = 1, low = 1, high = 1;
  double log_deviation = 0;  // LogRatio::deviation
  std::size_t pairs = 0;     // or values of the smaller side
};
RatioInterval interval_of(const LogRatio& ratio, double confidence);
RatioInterval ratio_interval(std::span<const double> log_ratios, double confidence);

// The same `seed` gives the same interval, on any machine.
struct Bootstrap {
  double confidence = 0.9;
  unsigned rounds = 10'000;
  std::uint64_t seed = 1;
};
RatioInterval bootstrap_interval(std::span<const double> log_ratios, const Bootstrap& options);

// ---- one ratio against a margin
enum class Equivalence {
  kWithin,     // the whole interval lies inside the bounds
  kNotWithin,  // the whole interval lies outside
  kUndecided,
};
std::string_view name_of(Equivalence verdict);
// `margin` is in (0, 1).
Equivalence judge(const RatioInterval& interval, double margin);

// The number of pairs that would probably decide it, were mean and deviation to stay as they are;
// nothing when the mean is so close to the border that a million would not do, or when the
// deviation is not known. At least as many as there are.
std::optional<std::size_t> pairs_to_decide(const RatioInterval& interval, double margin,
                                           double confidence);

// The number of values on each side that would probably give an interval no wider than the bounds
// of `margin`, were the deviation to stay as it is. nullopt as above.
std::optional<std::size_t> values_for_width(const LogRatio& ratio, double margin,
                                            double confidence);

// ---- a family of ratios
// p-values of the two questions about a ratio; 1 where there are too few values.
struct RatioTests {
  double different = 1;   // two-sided: the ratio is not 1
  double equivalent = 1;  // it lies within the bounds
};
RatioTests test_ratio(const LogRatio& ratio, double margin);

// Adjusts the p-values of a family, so that one or more false rejections among all of its tests are
// as unlikely as one among one. A ratio that is 1 is not outside the bounds, so that at most half
// of the hypotheses are true together, which Holm's steps may use; one ratio needs no adjustment.
std::vector<RatioTests> adjust_family(std::span<const RatioTests> family);

inline constexpr double kSignificant = 0.05;  // p-values below it show something
enum class RatioVerdict : std::uint8_t {
  kTooFew,        // a side has fewer than two values
  kInconclusive,  // neither a difference nor equivalence is shown
  kLess,          // B takes less than A
  kGreater,
  kEquivalent,
  kWithinMargin,  // different, and equivalent within the margin
  kUnequal,       // a run that missed the target ended too early to tell
};
std::string_view verdict_name(RatioVerdict verdict);
// `tests`: adjusted; both are judged at 5 %.
RatioVerdict judge_ratio(const LogRatio& ratio, const RatioTests& tests);

}  // namespace corral::analyze
