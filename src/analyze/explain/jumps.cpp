#include "analyze/explain/jumps.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "analyze/explain/change_points.h"

namespace corral::analyze {
namespace {

constexpr double kClip = 8;              // median absolute deviations
constexpr double kPeriodLikeness = 0.3;  // autocorrelation
constexpr double kUncorrelated = 0.1;    // autocorrelation
constexpr std::size_t kLongestLag = 8;   // part of the values: 1/8
constexpr std::size_t kLeastBlocks = 5;  // in a piece
constexpr double kNoiseFloor = 0.05;     // part of the deviation
constexpr double kLeastJump = 0.25;      // deviations
constexpr double kStandardErrors = 4;
constexpr double kJumpPart = 0.5;       // part of the means' difference; less is a drift
constexpr double kPenalty = 5;          // variances of noise, times ln n
constexpr double kFilteredPenalty = 7;  // the same where neighbours are alike
constexpr double kRounded = 1e-9;       // part of the mean

double mean_from(std::span<const double> values, std::size_t begin, std::size_t end) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                         values.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
         static_cast<double>(end - begin);
}

// The median of the values around each; at the ends of the first and last of them.
std::vector<double> running_median(std::span<const double> values, std::size_t width) {
  const std::size_t reach = std::min(width, values.size()) / 2;
  std::vector<double> sorted(values.begin(),
                             values.begin() + static_cast<std::ptrdiff_t>(2 * reach + 1));
  std::ranges::sort(sorted);
  std::vector<double> medians(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > reach && i + reach < values.size()) {
      sorted.erase(std::ranges::lower_bound(sorted, values[i - reach - 1]));
      sorted.insert(std::ranges::upper_bound(sorted, values[i + reach]), values[i + reach]);
    }
    medians[i] = sorted[reach];
  }
  return medians;
}

// The mean of the values around each; at the ends of fewer.
std::vector<double> running_mean(std::span<const double> values, std::size_t width) {
  std::vector<double> sums(values.size() + 1);
  std::partial_sum(values.begin(), values.end(), sums.begin() + 1);
  std::vector<double> means(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = std::min(i - std::min(i, width / 2), values.size() - width);
    means[i] = (sums[begin + width] - sums[begin]) / static_cast<double>(width);
  }
  return means;
}

// A series without its slow part and without outliers.
struct Detail {
  std::vector<double> clipped;   // the values
  std::vector<double> residual;  // to their running median
  double deviation = 0;
};
Detail find_detail(std::span<const double> values) {
  const std::size_t width = (values.size() / kLongestLag) | 1U;
  const std::vector<double> slow = running_median(values, width);
  Detail found{.clipped = {values.begin(), values.end()}, .residual = slow};
  std::vector<double> far(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) far[i] = std::abs(values[i] - slow[i]);
  const double most = kClip * quantile_of(std::move(far), 0.5);
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& residual = found.residual[i];
    residual = values[i] - slow[i];
    if (most > 0) residual = std::clamp(residual, -most, most);
    found.clipped[i] = slow[i] + residual;
    squares += residual * residual;
  }
  found.deviation = std::sqrt(squares / static_cast<double>(values.size()));
  return found;
}

// The lag up to which neighbours are alike, and the one after which they are alike again.
struct Likeness {
  std::size_t length = 1;
  std::size_t period = 0;
};
double autocorrelation(std::span<const double> values, std::size_t lag) {
  return std::inner_product(values.begin() + static_cast<std::ptrdiff_t>(lag), values.end(),
                            values.begin(), 0.0);
}
Likeness find_likeness(std::vector<double> values) {
  const double mean = mean_from(values, 0, values.size());
  for (double& value : values) value -= mean;
  const double whole = autocorrelation(values, 0);
  Likeness found;
  if (!(whole > 0)) return found;
  const std::size_t most = values.size() / kLongestLag;
  std::vector<double> all(most + 2);
  for (std::size_t lag = 0; lag < all.size(); ++lag)
    all[lag] = autocorrelation(values, lag) / whole;
  while (found.length < most && all[found.length] >= kUncorrelated) ++found.length;
  // A single echo is none: two peaks of a few that happen to be so far apart.
  const auto echoes = [&](std::size_t lag) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(2 * lag - lag / 8 - 1);
    const auto to = all.begin() + static_cast<std::ptrdiff_t>(2 * lag + lag / 8 + 2);
    return *std::max_element(from, std::min(to, all.end())) > kPeriodLikeness / 2;
  };
  for (std::size_t lag = found.length + 1; lag <= most / 2; ++lag) {
    const double peak = all[lag];
    if (peak <= kPeriodLikeness || peak < all[lag - 1] || peak < all[lag + 1]) continue;
    if (found.period > 0 && peak <= 1.1 * all[found.period]) continue;
    if (echoes(lag)) found.period = lag;
  }
  return found;
}

// Calls `worth(i)` for all of `places`, and erases the least until it is `enough`.
template <class Worth>
void erase_least(std::vector<std::size_t>& places, double enough, Worth worth) {
  while (!places.empty()) {
    std::size_t weakest = 0;
    double least = enough;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double one = worth(i);
      if (one >= least) continue;
      least = one;
      weakest = i;
    }
    if (least >= enough) return;
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
}

class JumpFinder {
 public:
  explicit JumpFinder(std::span<const double> values)
      : detail_(find_detail(values)),
        values_(detail_.clipped),
        likeness_(find_likeness(detail_.residual)) {
    const std::size_t most = values.size() / (2 * kLeastBlocks);
    const bool periodic = likeness_.period > 0;
    block_ = periodic ? std::max<std::size_t>(1, likeness_.period / 2)
                      : std::clamp<std::size_t>(likeness_.length, 1, most);
    alike_ = static_cast<double>(periodic ? likeness_.period : block_);
  }

  Jumps run() {
    search();
    const bool changes = !places_.empty();
    erase_least(places_, 1, [this](std::size_t i) { return worth(i); });
    erase_least(places_, kJumpPart, [this](std::size_t i) { return jump_part(i); });
    for (std::size_t i = 0; i < places_.size(); ++i) place(i);
    Jumps found{.jumps = {},
                .drifts = changes && places_.empty(),
                .period = likeness_.period,
                .deviation = detail_.deviation};
    for (std::size_t i = 0; i < places_.size(); ++i) {
      found.jumps.push_back({.at = places_[i],
                             .before = mean_from(values_, begin(i), places_[i]),
                             .after = mean_from(values_, places_[i], end(i)),
                             .length = end(i) - places_[i],
                             .reach = block_});
    }
    return found;
  }

 private:
  [[nodiscard]] std::size_t begin(std::size_t i) const { return i == 0 ? 0 : places_[i - 1]; }
  [[nodiscard]] std::size_t end(std::size_t i) const {
    return i + 1 == places_.size() ? values_.size() : places_[i + 1];
  }

  void search() {
    const bool periodic = likeness_.period > 0;
    const std::vector<double> level =
        periodic ? running_mean(values_, likeness_.period) : detail_.clipped;
    std::vector<double> blocks;
    for (std::size_t at = 0; at + block_ <= level.size(); at += block_)
      blocks.push_back(mean_from(level, at, at + block_));
    // A mean over a period of a fraction of a value too much is not quite even.
    const double floor = periodic ? std::max(kNoiseFloor, 1 / alike_) : kNoiseFloor;
    noise_ = std::max(noise_around_jumps(blocks, 2), floor * detail_.deviation);
    if (noise_ == 0) noise_ = kRounded * std::abs(mean_from(values_, 0, values_.size()));
    const double penalty = (alike_ > 1 ? kFilteredPenalty : kPenalty) *
                           std::log(static_cast<double>(blocks.size())) * noise_ * noise_ * alike_ /
                           static_cast<double>(block_);
    places_ = place_changes(values_, find_mean_changes(blocks, penalty), block_);
  }

  // 1 or more: it counts. The weaker end of a short piece is worth less than the other.
  [[nodiscard]] double worth(std::size_t i) const {
    const auto left = static_cast<double>(places_[i] - begin(i));
    const auto right = static_cast<double>(end(i) - places_[i]);
    const double size =
        std::abs(mean_from(values_, places_[i], end(i)) - mean_from(values_, begin(i), places_[i]));
    const double error = noise_ * std::sqrt(alike_ / left + alike_ / right);
    const double least = std::max(kStandardErrors * error, kLeastJump * detail_.deviation);
    const double worth = least > 0 ? size / least : 2;
    const double blocks = std::min(left, right) / static_cast<double>(block_);
    return blocks < kLeastBlocks ? blocks / kLeastBlocks * worth / (1 + worth) : worth;
  }

  // Part of the difference of the means that lines through both sides leave as a jump: about 0 in a
  // drift. A longer side counts with its near part, where a curve is a line.
  [[nodiscard]] double jump_part(std::size_t i) const {
    const std::size_t at = places_[i];
    const double difference = mean_from(values_, at, end(i)) - mean_from(values_, begin(i), at);
    if (difference == 0) return 0;
    const std::size_t most = 3 * std::min(at - begin(i), end(i) - at);
    const double before = line_at(std::max(begin(i), at - std::min(at, most)), at, true);
    return (line_at(at, std::min(end(i), at + most), false) - before) / difference;
  }
  // The value at the begin or end of the line through a piece.
  [[nodiscard]] double line_at(std::size_t begin, std::size_t end, bool at_end) const {
    const double half = static_cast<double>(end - begin - 1) / 2;
    const StraightLine line = fit_line(values_.subspan(begin, end - begin));
    return line.middle + line.slope * (at_end ? half : -half);
  }

  // Moves it to where it fits best, by at most two blocks.
  void place(std::size_t i) {
    const std::size_t period = likeness_.period;
    const std::size_t first = begin(i), last = end(i);
    std::size_t from = std::max(first + 1, places_[i] - std::min(places_[i], 2 * block_));
    std::size_t to = std::min(last - 1, places_[i] + 2 * block_);
    if (period > 0) {
      from = std::max(from, period);
      to = std::min(to, values_.size() - period);
    }
    double best = -1;
    for (std::size_t at = from; at <= to; ++at) {
      // Between the periods on both sides, or all of both sides.
      const std::size_t begin = period > 0 ? at - period : first;
      const std::size_t end = period > 0 ? at + period : last;
      const double size = mean_from(values_, at, end) - mean_from(values_, begin, at);
      const double fit =
          size * size / (1 / static_cast<double>(at - begin) + 1 / static_cast<double>(end - at));
      if (fit <= best) continue;
      best = fit;
      places_[i] = at;
    }
  }

  Detail detail_;
  std::span<const double> values_;  // without outliers
  Likeness likeness_;
  std::size_t block_ = 1;
  double alike_ = 1;  // so many neighbours tell as much as one
  double noise_ = 0;  // standard deviation of a block
  std::vector<std::size_t> places_;
};

}  // namespace

StraightLine fit_line(std::span<const double> values) {
  StraightLine line;
  if (values.empty()) return line;
  line.middle = mean_from(values, 0, values.size());
  const double half = static_cast<double>(values.size() - 1) / 2;
  double products = 0, squares = 0, whole = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - half, y = values[i] - line.middle;
    products += x * y;
    squares += x * x;
    whole += y * y;
  }
  if (squares > 0) line.slope = products / squares;
  if (whole > 0) line.share = line.slope * products / whole;
  return line;
}

Jumps find_jumps(std::span<const double> values) {
  if (values.size() < kLeastJumpValues) return {};
  return JumpFinder(values).run();
}

}  // namespace corral::analyze
