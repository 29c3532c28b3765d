// Grid: the half-open range [from, to) of an axis cut into `width` columns of equal length; exact
// for every int64 range. Immutable, any thread.
#pragma once

#include <cstdint>

namespace corral::query {

class Grid {
 public:
  // to > from, 0 < width <= 2^31.
  Grid(std::int64_t from, std::int64_t to, std::uint32_t width);
  [[nodiscard]] std::int64_t from() const { return from_; }
  [[nodiscard]] std::int64_t to() const { return to_; }
  [[nodiscard]] std::uint32_t width() const { return width_; }
  [[nodiscard]] bool contains(std::int64_t x) const { return x >= from_ && x < to_; }
  // The column of an x inside the range.
  [[nodiscard]] std::uint32_t column(std::int64_t x) const;
  // The least x of column `i`; `to` for i == width.
  [[nodiscard]] std::int64_t border(std::uint32_t i) const {
    const std::uint64_t offset =
        i * quotient_ + (i * std::uint64_t{remainder_} + width_ - 1) / width_;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(from_) + offset);
  }
  // Distance from the left edge in columns.
  [[nodiscard]] float pixels(std::int64_t x) const;
  // The length of one column, rounded down.
  [[nodiscard]] std::uint64_t column_length() const { return quotient_; }

 private:
  std::int64_t from_;
  std::int64_t to_;
  std::uint64_t length_;
  std::uint64_t quotient_;   // length / width
  std::uint32_t remainder_;  // length % width
  std::uint32_t width_;
  double columns_per_unit_;
};

// to - from of any from <= to.
constexpr std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

}  // namespace corral::query
