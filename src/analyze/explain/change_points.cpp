#include "analyze/explain/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace corral::analyze {
namespace {

constexpr std::size_t kReach = 5;  // values before and after one that tell whether it is an outlier
constexpr double kFar = 5;         // standard deviations
constexpr std::size_t kMostBins = 1024;

// The places at which the last segment may begin. Their numbers lie side by side, so that one pass
// computes all costs.
class LastSegments {
 public:
  struct Cheapest {
    std::size_t begin;
    double total;  // with the penalty
  };

  explicit LastSegments(std::size_t most) {
    for (std::vector<double>* numbers : {&begins_, &best_, &sums_, &squares_, &costs_})
      numbers->reserve(most);
  }
  // `best`: the least cost of all before it.
  void add(std::size_t begin, double best, const RangeSums& sums) {
    begins_.push_back(static_cast<double>(begin));
    best_.push_back(best);
    sums_.push_back(sums.sum_before(begin));
    squares_.push_back(sums.squares_before(begin));
  }
  // Finds the first of those that cost the least with the penalty, and leaves out those that are
  // worse by a whole penalty: they can never become the best. There must be one.
  Cheapest cheapest(std::size_t end, double penalty, const RangeSums& sums) {
    const double total = compute_costs(end, sums) + penalty;
    std::size_t first = costs_.size(), kept = 0;
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      if (costs_[i] > total) continue;
      if (first == costs_.size() && costs_[i] + penalty <= total) first = kept;
      if (kept < i) {
        begins_[kept] = begins_[i];
        best_[kept] = best_[i];
        sums_[kept] = sums_[i];
        squares_[kept] = squares_[i];
      }
      ++kept;
    }
    for (std::vector<double>* numbers : {&begins_, &best_, &sums_, &squares_})
      numbers->resize(kept);
    return {static_cast<std::size_t>(begins_[first]), total};
  }

 private:
  // Returns the least.
  double compute_costs(std::size_t end, const RangeSums& sums) {
    const double at = static_cast<double>(end);
    const double all = sums.sum_before(end), all_squares = sums.squares_before(end);
    double least = std::numeric_limits<double>::infinity();
    costs_.resize(begins_.size());
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      const double sum = all - sums_[i];
      const double scatter = all_squares - squares_[i] - sum * sum / (at - begins_[i]);
      costs_[i] = best_[i] + std::max(0.0, scatter);
      least = std::min(least, costs_[i]);
    }
    return least;
  }

  std::vector<double> begins_, best_, sums_, squares_;
  std::vector<double> costs_;  // as cheapest() found them
};

}  // namespace

RangeSums::RangeSums(std::span<const double> values) : sums_(values.size() + 1), squares_(sums_) {
  // Around the mean, so that the squares keep their digits.
  if (!values.empty())
    centre_ =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i] - centre_;
    sums_[i + 1] = sums_[i] + value;
    squares_[i + 1] = squares_[i] + value * value;
  }
}

std::vector<std::size_t> find_mean_changes(std::span<const double> values, double penalty) {
  const std::size_t n = values.size();
  const RangeSums sums(values);
  std::vector<std::size_t> previous(n + 1, 0);
  LastSegments segments(n + 1);
  segments.add(0, -penalty, sums);
  for (std::size_t end = 1; end <= n; ++end) {
    const auto [begin, total] = segments.cheapest(end, penalty, sums);
    previous[end] = begin;
    segments.add(end, total, sums);
  }
  std::vector<std::size_t> changes;
  for (std::size_t at = previous[n]; at > 0; at = previous[at]) changes.push_back(at);
  std::ranges::reverse(changes);
  return changes;
}

Bins bin_means(std::span<const double> values) {
  Bins bins;
  bins.size = std::max<std::size_t>(1, (values.size() + kMostBins - 1) / kMostBins);
  bins.means.reserve(values.size() / bins.size + 1);
  for (std::size_t begin = 0; begin < values.size(); begin += bins.size) {
    const auto bin = values.subspan(begin, std::min(bins.size, values.size() - begin));
    bins.means.push_back(std::accumulate(bin.begin(), bin.end(), 0.0) /
                         static_cast<double>(bin.size()));
  }
  return bins;
}

std::vector<std::size_t> place_changes(std::span<const double> values,
                                       std::vector<std::size_t> changes, std::size_t bin_size) {
  if (bin_size == 1) return changes;
  // The bin in which the mean changes lies between both means, and may look like a piece of its
  // own.
  const auto last = std::unique(changes.begin(), changes.end(),
                                [](std::size_t a, std::size_t b) { return b == a + 1; });
  changes.erase(last, changes.end());
  for (std::size_t& change : changes) change *= bin_size;
  const RangeSums sums(values);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::size_t first = i == 0 ? 0 : changes[i - 1];
    const std::size_t end = i + 1 == changes.size() ? values.size() : changes[i + 1];
    const std::size_t from = std::max(first + 1, changes[i] - bin_size);
    const std::size_t to = std::min(end - 1, changes[i] + bin_size);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = from; at <= to; ++at) {
      const double total = sums.scatter(first, at) + sums.scatter(at, end);
      if (total >= least) continue;
      least = total;
      changes[i] = at;
    }
  }
  return changes;
}

std::vector<double> replace_outliers(std::span<const double> values) {
  std::vector<double> replaced(values.begin(), values.end());
  if (values.size() <= 2 * kReach) return replaced;
  std::array<double, 2 * kReach + 1> around{};
  const auto middle = around.begin() + kReach;
  for (std::size_t i = kReach; i < values.size(); ++i) {
    const std::size_t begin = std::min(i - kReach, values.size() - around.size());
    std::ranges::copy(values.subspan(begin, around.size()), around.begin());
    std::ranges::nth_element(around, middle);
    const double median = *middle;
    for (double& one : around) one = std::abs(one - median);
    std::ranges::nth_element(around, middle);
    if (std::abs(values[i] - median) > kFar * kMadToDeviation * *middle) replaced[i] = median;
  }
  return replaced;
}

double noise_around_jumps(std::span<const double> values, std::size_t farthest) {
  double greatest = 0;
  for (std::size_t lag = 1; lag <= farthest && lag < values.size(); lag *= 2) {
    if (lag > 1 && lag > values.size() / 8) break;
    std::vector<double> differences(values.size() - lag);
    for (std::size_t i = 0; i < differences.size(); ++i)
      differences[i] = values[i + lag] - values[i];
    // A steady drift is no noise.
    const double drift = quantile_of(differences, 0.5);
    for (double& difference : differences) difference = std::abs(difference - drift);
    greatest = std::max(greatest, quantile_of(std::move(differences), 0.5));
  }
  // The median of |N(0, 2 sigma^2)|.
  constexpr double kMedianOfNormal = 0.6744897501960817;
  return greatest / (kMedianOfNormal * std::numbers::sqrt2);
}

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::ranges::nth_element(values, at);
  const double low = *at;
  if (below + 1 == values.size()) return low;
  const double high = *std::ranges::min_element(at + 1, values.end());
  return low + (place - static_cast<double>(below)) * (high - low);
}

}  // namespace corral::analyze
