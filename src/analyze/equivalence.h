// Equivalence of paired measurements: does B take as long as A, within a margin?
//
// Each pair gives the logarithm of B / A. Their mean, with the interval of Student's t, is the
// geometric mean of the ratios with its interval; two one-sided tests at 5 % are the same as asking
// whether the 90 % interval lies inside the margin. Not being significantly different is no
// equivalence: an interval that crosses the margin's border decides nothing. The bootstrap
// (percentiles of resampled means) assumes no distribution and is the cross-check.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace corral::analyze {

// A geometric mean of ratios and its interval; NaN where there are too few pairs (an interval needs
// two).
struct RatioInterval {
  double mean = 1, low = 1, high = 1;
  double log_deviation = 0;  // standard deviation of the logarithms
  std::size_t pairs = 0;
};
RatioInterval ratio_interval(std::span<const double> log_ratios, double confidence);

// The same `seed` gives the same interval, on any machine.
struct Bootstrap {
  double confidence = 0.9;
  unsigned rounds = 10'000;
  std::uint64_t seed = 1;
};
RatioInterval bootstrap_interval(std::span<const double> log_ratios, const Bootstrap& options);

enum class Equivalence {
  kWithin,     // the whole interval lies inside [1 - margin, 1 + margin]
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

}  // namespace corral::analyze
