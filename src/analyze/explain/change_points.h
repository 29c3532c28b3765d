// Change points of a mean: PELT (Killick, Fearnhead, Eckley 2012) with the cost of squared
// differences, exact. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace corral::analyze {

// Prefix sums of finite values; ranges are not empty.
class RangeSums {
 public:
  explicit RangeSums(std::span<const double> values);
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const {
    return centre_ + (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
  }
  // Sums of the values before this one, and of their squares, around one centre.
  [[nodiscard]] double sum_before(std::size_t at) const { return sums_[at]; }
  [[nodiscard]] double squares_before(std::size_t at) const { return squares_[at]; }
  // The sum of squared differences to the mean.
  [[nodiscard]] double scatter(std::size_t begin, std::size_t end) const {
    const double sum = sums_[end] - sums_[begin];
    const double squares = squares_[end] - squares_[begin];
    return std::max(0.0, squares - sum * sum / static_cast<double>(end - begin));
  }

 private:
  double centre_ = 0;
  std::vector<double> sums_, squares_;
};

// Returns the first index of each segment but the first, ascending. A change is worth its while if
// it lowers the sum of squared differences to the segments' means by more than `penalty`. Values
// are finite. Time: O(n) to O(n^2), where nothing changes.
std::vector<std::size_t> find_mean_changes(std::span<const double> values, double penalty);

// Means of equal bins of neighbouring values, the last of which may be smaller. So many that a
// search for changes takes milliseconds: at most 1,024.
struct Bins {
  std::size_t size = 1;  // values in a bin
  std::vector<double> means;
};
Bins bin_means(std::span<const double> values);
// Moves changes that were found in bins of `values` to where they fit best: each between its
// neighbours, by at most one bin. Two that are one bin apart become one.
std::vector<std::size_t> place_changes(std::span<const double> values,
                                       std::vector<std::size_t> changes, std::size_t bin_size);

// A median absolute deviation of normal values times this is their standard deviation.
inline constexpr double kMadToDeviation = 1.4826;

// Replaces a value that is more than five standard deviations (by the median absolute deviation)
// from the median of the eleven values around it by that median. The first five stay: slow first
// steps are a warm-up.
std::vector<double> replace_outliers(std::span<const double> values);

// The standard deviation of noise around a mean that may jump or drift: from the median absolute
// deviation of the differences of values 1, 2, 4, 8 and 16 apart, the greatest of them, since
// neighbours may resemble each other or be equal. Distances are at most an eighth of the values,
// and `farthest`. 0 below two values.
double noise_around_jumps(std::span<const double> values, std::size_t farthest = 16);

// The value below which `share` of the values lie, by linear interpolation; NaN without values.
double quantile_of(std::vector<double> values, double share);

}  // namespace corral::analyze
