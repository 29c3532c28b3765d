#include "analyze/explain/least_squares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace corral::analyze {
namespace {

constexpr double kRidge = 1e-10;  // added to the unit diagonal: keeps a singular matrix solvable
constexpr double kNoGradient = 1e-9;  // relative to the greatest

// L of LLᵀ, in the lower half. The matrix is positive definite, but for rounding.
void factorize(std::vector<double>& matrix, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      matrix[i * n + j] =
          i == j ? std::sqrt(std::max(sum, kRidge * kRidge)) : sum / matrix[j * n + j];
    }
  }
}

void substitute(const std::vector<double>& lower, std::vector<double>& values) {
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) values[i] -= lower[i * n + k] * values[k];
    values[i] /= lower[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) values[i] -= lower[k * n + i] * values[k];
    values[i] /= lower[i * n + i];
  }
}

std::vector<std::size_t> columns_in(std::span<const double> scales) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < scales.size(); ++i)
    if (scales[i] > 0) columns.push_back(i);
  return columns;
}

}  // namespace

void NormalEquations::add(std::span<const double> row, double value) {
  for (std::size_t i = 0; i < columns_; ++i) {
    if (row[i] == 0) continue;
    moment_[i] += row[i] * value;
    for (std::size_t j = 0; j < columns_; ++j) gram_[i * columns_ + j] += row[i] * row[j];
  }
}

void NormalEquations::add(const NormalEquations& other, double times) {
  for (std::size_t i = 0; i < gram_.size(); ++i) gram_[i] += times * other.gram_[i];
  for (std::size_t i = 0; i < columns_; ++i) moment_[i] += times * other.moment_[i];
}

NormalEquations NormalEquations::without_last() const {
  NormalEquations fewer(columns_ - 1);
  for (std::size_t i = 0; i < fewer.columns_; ++i) {
    fewer.moment_[i] = moment_[i];
    for (std::size_t j = 0; j < fewer.columns_; ++j)
      fewer.gram_[i * fewer.columns_ + j] = gram_[i * columns_ + j];
  }
  return fewer;
}

std::vector<double> NormalEquations::scales() const {
  std::vector<double> scales;
  for (std::size_t i = 0; i < columns_; ++i) scales.push_back(std::sqrt(gram_[i * columns_ + i]));
  return scales;
}

// The factor of the matrix of the chosen columns, each of unit length.
std::vector<double> NormalEquations::factor_of(std::span<const std::size_t> chosen,
                                               std::span<const double> scale) const {
  const std::size_t n = chosen.size();
  std::vector<double> matrix(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double product = gram_[chosen[i] * columns_ + chosen[j]];
      matrix[i * n + j] = product / scale[chosen[i]] / scale[chosen[j]] + (i == j ? kRidge : 0);
    }
  }
  factorize(matrix, n);
  return matrix;
}

std::vector<double> NormalEquations::solve_for(std::span<const std::size_t> chosen) const {
  const std::vector<double> scale = scales();
  std::vector<double> values, weights(columns_);
  for (const std::size_t i : chosen) values.push_back(moment_[i] / scale[i]);
  substitute(factor_of(chosen, scale), values);
  for (std::size_t i = 0; i < chosen.size(); ++i) weights[chosen[i]] = values[i] / scale[chosen[i]];
  return weights;
}

std::vector<double> NormalEquations::solve() const { return solve_for(columns_in(scales())); }

std::vector<double> NormalEquations::solve_nonnegative() const {
  const std::vector<double> scale = scales();
  std::vector<double> weights(columns_);
  std::vector<std::size_t> free;  // the weights that are above 0
  double greatest = 0;
  for (const std::size_t i : columns_in(scale))
    greatest = std::max(greatest, std::abs(moment_[i] / scale[i]));
  for (std::size_t round = 0; round < 3 * columns_; ++round) {
    // The column that lowers the error most.
    std::size_t best = columns_;
    double most = kNoGradient * greatest;
    for (const std::size_t i : columns_in(scale)) {
      if (std::ranges::find(free, i) != free.end()) continue;
      double gradient = moment_[i];
      for (const std::size_t j : free) gradient -= gram_[i * columns_ + j] * weights[j];
      if (gradient / scale[i] <= most) continue;
      most = gradient / scale[i];
      best = i;
    }
    if (best == columns_) break;
    free.push_back(best);
    // Towards the solution, as far as all stay above 0; those that reach it are fixed there.
    while (!free.empty()) {
      const std::vector<double> wanted = solve_for(free);
      double part = 1;
      for (const std::size_t i : free)
        if (wanted[i] <= 0) part = std::min(part, weights[i] / (weights[i] - wanted[i]));
      if (!(part >= 0)) part = 0;  // 0 / 0
      for (const std::size_t i : free) weights[i] += part * (wanted[i] - weights[i]);
      const auto at_0 = [&](std::size_t i) {
        return wanted[i] <= 0 && weights[i] * scale[i] <= kNoGradient * greatest;
      };
      const bool whole = std::ranges::none_of(free, [&](std::size_t i) { return wanted[i] <= 0; });
      if (whole) break;
      for (const std::size_t i : free)
        if (at_0(i)) weights[i] = 0;
      if (std::erase_if(free, at_0) == 0) break;
    }
  }
  for (double& weight : weights) weight = std::max(weight, 0.0);
  return weights;
}

std::vector<double> NormalEquations::inflation() const {
  const std::vector<double> scale = scales();
  const std::vector<std::size_t> chosen = columns_in(scale);
  const std::vector<double> factor = factor_of(chosen, scale);
  std::vector<double> factors(columns_), unit(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    std::ranges::fill(unit, 0.0);
    unit[i] = 1;
    substitute(factor, unit);
    factors[chosen[i]] = unit[i];
  }
  return factors;
}

}  // namespace corral::analyze
