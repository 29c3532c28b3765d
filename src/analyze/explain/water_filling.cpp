#include "analyze/explain/water_filling.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace corral::analyze {
namespace {

constexpr double kNothing = 1e-12;  // relative to the mean: rounding

// Pours `rest` over the pieces in proportion to their demands; `order`: the ones with least room
// for their demand first, so that each gets its part of what those before it left.
struct Pouring {
  std::span<const DemandPiece> pieces;
  std::vector<double>& use;
  double rest = 0;

  template <class Demand, class Room>
  void pour(Demand demand, Room room) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) {
      return demand(i) <= 0 || room(i) <= 0 || pieces[i].fraction <= 0;
    });
    // demand / room descending, without a division.
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return demand(a) / room(a) > demand(b) / room(b);
    });
    double wanted = 0;
    for (const std::size_t i : order) wanted += pieces[i].fraction * demand(i);
    for (const std::size_t i : order) {
      if (rest <= 0 || wanted <= 0) return;
      const double more = std::min(rest * demand(i) / wanted, room(i));
      wanted -= pieces[i].fraction * demand(i);
      use[i] += more;
      rest -= pieces[i].fraction * more;
    }
  }
};

}  // namespace

PlacedUse place_use(std::span<const DemandPiece> pieces, double mean, double capacity) {
  PlacedUse placed{.use = std::vector<double>(pieces.size()), .unplaced = 0};
  Pouring pouring{.pieces = pieces, .use = placed.use, .rest = mean};
  const auto room = [&](std::size_t i) { return capacity - placed.use[i]; };
  // Exact demand fills up to itself, so no piece gets more than it demands.
  pouring.pour([&](std::size_t i) { return pieces[i].exact; },
               [&](std::size_t i) { return std::min(pieces[i].exact, capacity); });
  pouring.pour([&](std::size_t i) { return pieces[i].variable; }, room);
  if (pouring.rest > kNothing * mean) pouring.pour([](std::size_t) { return 1.0; }, room);
  if (pouring.rest > kNothing * mean) placed.unplaced = pouring.rest;
  return placed;
}

double exact_share(double use, const DemandPiece& piece, double exact) {
  return piece.exact > 0 ? std::min(use * (exact / piece.exact), exact) : 0;
}

double variable_share(double use, const DemandPiece& piece, double variable) {
  return piece.variable > 0 ? std::max(use - piece.exact, 0.0) * (variable / piece.variable) : 0;
}

}  // namespace corral::analyze
