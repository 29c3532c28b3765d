// Water filling: where in a window the use of a resource lay, if only its mean over the window was
// measured but the demands at each moment are known.
//
// After Grade10's upsampling. A window is cut into pieces of constant demand. Exact demand, in the
// metric's unit, is met first; the rest is spread in proportion to the variable demand; what is
// left lies flat, as background. No piece exceeds the capacity; what finds no room is unplaced. So
// the sum of fraction × use over the pieces, and the unplaced, is the mean. Pure.
#pragma once

#include <limits>
#include <span>
#include <vector>

namespace corral::analyze {

inline constexpr double kNoCapacity = std::numeric_limits<double>::infinity();

struct DemandPiece {
  double fraction = 0;  // part of the window
  double exact = 0;     // in the metric's unit
  double variable = 0;  // relative to that of other pieces
};

struct PlacedUse {
  std::vector<double> use;  // by piece
  double unplaced = 0;      // a part of the mean
};

// `mean` >= 0; fractions add up to 1.
PlacedUse place_use(std::span<const DemandPiece> pieces, double mean, double capacity);

// The share in a piece's use `use` of one phase with an exact, or a variable, demand.
double exact_share(double use, const DemandPiece& piece, double exact);
double variable_share(double use, const DemandPiece& piece, double variable);

}  // namespace corral::analyze
