#include "analyze/sample_difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/result.h"

namespace corral::analyze {
namespace {

SampleMoments compute_moments(const std::vector<double>& values) {
  SampleMoments moments{.n = values.size()};
  const auto n = static_cast<double>(values.size());
  for (const double v : values) moments.mean += v;
  moments.mean /= n;
  double squares = 0, rest = 0;
  for (const double v : values) {
    squares += (v - moments.mean) * (v - moments.mean);
    rest += v - moments.mean;
  }
  // One value throughout has no deviation, whatever rounding left in the mean.
  const bool constant = values.front() == values.back();
  if (constant) moments.mean = values.front();
  if (values.size() > 1 && !constant)
    moments.deviation = std::sqrt(std::max(0.0, squares - rest * rest / n) / (n - 1));
  return moments;
}

double cohens_d(const SampleMoments& before, const SampleMoments& after) {
  const double change = after.mean - before.mean;
  if (change == 0) return 0;
  const auto freedom = static_cast<double>(before.n + after.n) - 2;
  const double squares = (static_cast<double>(before.n) - 1) * before.deviation * before.deviation +
                         (static_cast<double>(after.n) - 1) * after.deviation * after.deviation;
  const double pooled = freedom > 0 ? std::sqrt(squares / freedom) : 0;
  if (pooled == 0) return std::copysign(std::numeric_limits<double>::infinity(), change);
  return change / pooled;
}

// Walks both sorted samples value by value.
void compare_ranks(const std::vector<double>& before, const std::vector<double>& after,
                   SampleDifference& out) {
  const auto n = static_cast<double>(before.size());
  const auto m = static_cast<double>(after.size());
  double greater = 0, less = 0;  // pairs in which the value after is so
  for (std::size_t i = 0, j = 0; i < before.size() || j < after.size();) {
    const bool from_before = j == after.size() || (i < before.size() && before[i] <= after[j]);
    const double value = from_before ? before[i] : after[j];
    const std::size_t i0 = i, j0 = j;
    while (i < before.size() && before[i] == value) ++i;
    while (j < after.size() && after[j] == value) ++j;
    const auto equal = static_cast<double>(j - j0);
    greater += equal * static_cast<double>(i0);
    less += equal * static_cast<double>(before.size() - i);
    out.ks = std::max(out.ks, std::abs(static_cast<double>(i) / n - static_cast<double>(j) / m));
  }
  out.cliffs_delta = (greater - less) / (n * m);
}

}  // namespace

std::string_view direction_name(Direction direction) {
  switch (direction) {
    case Direction::kUp:
      return "up";
    case Direction::kDown:
      return "down";
    case Direction::kShape:
      break;
  }
  return "shape";
}

SampleDifference sample_difference(std::vector<double>& before, std::vector<double>& after) {
  CORRAL_ASSERT(!before.empty() && !after.empty());
  std::ranges::sort(before);
  std::ranges::sort(after);
  SampleDifference out;
  out.before = compute_moments(before);
  out.after = compute_moments(after);
  out.cohens_d = cohens_d(out.before, out.after);
  compare_ranks(before, after, out);
  if (std::abs(out.cliffs_delta) >= kNegligibleDelta)
    out.direction = out.cliffs_delta > 0 ? Direction::kUp : Direction::kDown;
  return out;
}

}  // namespace corral::analyze
