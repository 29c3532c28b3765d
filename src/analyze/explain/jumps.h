// Jumps: where the mean of a series jumps, told apart from noise, periods, neighbours that resemble
// each other, and drifts. docs/analysis.md has the steps and their limits. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace corral::analyze {

// Fewer values have no jumps.
inline constexpr std::size_t kLeastJumpValues = 16;

struct Jump {
  std::size_t at = 0;            // first value after it
  double before = 0, after = 0;  // means, from the jump before to the one after
  std::size_t length = 0;        // values from it to the next one
  std::size_t reach = 1;         // its place is known to so many values
};

struct Jumps {
  std::vector<Jump> jumps;  // by place
  bool drifts = false;      // the mean changes and never jumps
  std::size_t period = 0;   // values; 0: none
  double deviation = 0;     // standard deviation around the running median
};

// The least squares line of values at 0, 1, 2 ...
struct StraightLine {
  double middle = 0;  // the mean
  double slope = 0;   // by value
  double share = 0;   // part of the variance that it explains, 0 to 1
};
StraightLine fit_line(std::span<const double> values);

// Values are finite. Time: O(n^2), some ms for 1,024.
Jumps find_jumps(std::span<const double> values);

}  // namespace corral::analyze
