// The difference of two samples of values: Kolmogorov and Smirnov's distance, Cohen's d, Cliff's
// delta.
//
// The distance (0 to 1) sees any difference of the distributions, also one of shape alone. Cohen's
// d is the distance of the means in pooled standard deviations. Delta (-1 to 1) says how much more
// often a value after is greater than one before than it is less. There is no p-value, because the
// values of a time series depend on each other. Pure functions, any thread; cost: that of sorting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace corral::analyze {

struct SampleMoments {
  double mean = 0;
  double deviation = 0;  // sample standard deviation (n - 1); 0 for one value
  std::size_t n = 0;
};

// kShape: neither clearly greater nor less, |delta| below kNegligibleDelta.
enum class Direction : std::uint8_t { kUp, kDown, kShape };
std::string_view direction_name(Direction direction);

inline constexpr double kNegligibleDelta = 0.147;  // Romano et al., 2006

struct SampleDifference {
  double ks = 0;
  double cohens_d = 0;  // infinite where the means differ and nothing varies
  double cliffs_delta = 0;
  Direction direction = Direction::kShape;
  SampleMoments before, after;
};

// Finite values, at least one in each; both are left sorted.
SampleDifference sample_difference(std::vector<double>& before, std::vector<double>& after);

}  // namespace corral::analyze
