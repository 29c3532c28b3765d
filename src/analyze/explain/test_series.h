// Series for tests of what is worth looking at: noise of several kinds with a standard deviation of
// 1, and changes that are planted in it. The same for a seed on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "analyze/split_mix.h"

namespace corral::analyze::testing {

enum class NoiseKind : std::uint8_t { kGauss, kAlike, kDips, kSine };

class SeriesMaker {
 public:
  explicit SeriesMaker(std::uint64_t seed) : random_(seed) { random_.next(); }

  // In [0, 1).
  double uniform() { return static_cast<double>(random_.next() >> 11U) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  std::size_t below(std::size_t n) { return random_.below(n); }

  std::vector<double> noise(NoiseKind kind, std::size_t n) {
    std::vector<double> values(n);
    const std::size_t period = n / (20 + below(60)), phase = below(period);
    double alike = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double& value = values[i];
      value = normal();
      const std::size_t place = (i + phase) % period;
      if (kind == NoiseKind::kAlike) value = alike = 0.8 * alike + 0.6 * value;
      if (kind == NoiseKind::kSine)
        value += 2 * std::sin(2 * std::numbers::pi * static_cast<double>(place) /
                              static_cast<double>(period));
      if (kind == NoiseKind::kDips && place <= period / 10) value -= 5;
      if (kind == NoiseKind::kDips && uniform() < 0.001) value += 10;
    }
    return standardized(std::move(values));
  }

  // Adds steps up and down by `size` at places that it returns, as parts of the series; pieces
  // differ in length by at most a factor of two.
  std::vector<double> add_steps(std::vector<double>& values, std::size_t steps, double size) {
    std::vector<double> places;
    double sum = 0;
    for (std::size_t i = 0; i <= steps; ++i) places.push_back(sum += 1 + uniform());
    for (double& place : places) place /= sum;
    places.pop_back();
    double level = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i <= steps; ++i) {
      const double end = i == steps ? 1 : places[i];
      for (;
           static_cast<double>(at) < end * static_cast<double>(values.size()) && at < values.size();
           ++at)
        values[at] += level;
      level += below(2) == 0 ? size : -size;
    }
    return places;
  }

 private:
  static std::vector<double> standardized(std::vector<double> values) {
    double mean = 0, squares = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
    for (double& value : values) value = (value - mean) / deviation;
    return values;
  }

  SplitMix random_;
};

// Means of equal columns.
inline std::vector<double> in_columns(std::span<const double> values, std::size_t columns) {
  std::vector<double> means(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t begin = i * values.size() / columns, end = (i + 1) * values.size() / columns;
    for (std::size_t at = begin; at < end; ++at) means[i] += values[at];
    means[i] /= static_cast<double>(end - begin);
  }
  return means;
}

}  // namespace corral::analyze::testing
