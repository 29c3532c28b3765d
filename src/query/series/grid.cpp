#include "query/series/grid.h"

#include <algorithm>

#include "core/result.h"

namespace corral::query {

Grid::Grid(std::int64_t from, std::int64_t to, std::uint32_t width)
    : from_(from), to_(to), length_(distance(from, to)), width_(width) {
  CORRAL_ASSERT(to > from && width > 0 && width <= 1U << 31U);
  quotient_ = length_ / width;
  remainder_ = static_cast<std::uint32_t>(length_ % width);
  columns_per_unit_ = width / static_cast<double>(length_);
}

// A guess that is off by at most a few columns, put right at the borders.
std::uint32_t Grid::column(std::int64_t x) const {
  const double guess = static_cast<double>(distance(from_, x)) * columns_per_unit_;
  std::uint32_t i = std::min(static_cast<std::uint32_t>(guess), width_ - 1);
  while (i > 0 && x < border(i)) --i;
  while (i + 1 < width_ && x >= border(i + 1)) ++i;
  return i;
}

float Grid::pixels(std::int64_t x) const {
  if (x < from_)
    return -static_cast<float>(static_cast<double>(distance(x, from_)) /
                               static_cast<double>(length_) * width_);
  return static_cast<float>(static_cast<double>(distance(from_, x)) / static_cast<double>(length_) *
                            width_);
}

}  // namespace corral::query
