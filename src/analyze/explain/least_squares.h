// Least squares by normal equations: for many rows of few columns (tens), which are never held.
//
// Columns are scaled to unit length first, so their units do not matter. Two columns that are the
// same up to a factor have no solution of their own: see inflation(). Numbers must be finite. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace corral::analyze {

// Beyond this inflation a column's weight says nothing: others make the same rows.
inline constexpr double kCollinear = 1e6;

class NormalEquations {
 public:
  explicit NormalEquations(std::size_t columns)
      : columns_(columns), gram_(columns * columns), moment_(columns) {}

  // `row` has one number for each column.
  void add(std::span<const double> row, double value);
  // All rows of another with as many columns, `times` over.
  void add(const NormalEquations& other, double times);
  // The same rows without the last column.
  [[nodiscard]] NormalEquations without_last() const;

  [[nodiscard]] std::size_t columns() const { return columns_; }
  // The weights with the least squared error; 0 for a column that is 0 in all rows. If columns are
  // collinear, the smallest of such weights, about.
  [[nodiscard]] std::vector<double> solve() const;
  // The same under weights >= 0, by the active set method of Lawson and Hanson (1974).
  [[nodiscard]] std::vector<double> solve_nonnegative() const;
  // The factor by which the other columns increase the variance of each one's weight: 1 if they are
  // orthogonal to it. 0 for a column that is 0 in all rows.
  [[nodiscard]] std::vector<double> inflation() const;

 private:
  [[nodiscard]] std::vector<double> scales() const;
  [[nodiscard]] std::vector<double> factor_of(std::span<const std::size_t> chosen,
                                              std::span<const double> scale) const;
  [[nodiscard]] std::vector<double> solve_for(std::span<const std::size_t> chosen) const;

  std::size_t columns_;
  std::vector<double> gram_;    // AᵀA, by rows
  std::vector<double> moment_;  // Aᵀb
};

}  // namespace corral::analyze
