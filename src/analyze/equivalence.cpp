#include "analyze/equivalence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "analyze/split_mix.h"
#include "analyze/student_t.h"

namespace corral::analyze {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kMostPairs = 1e6;

double mean_value(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_from(std::span<const double> values, double mean) {
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

RatioInterval ratio_interval(std::span<const double> log_ratios, double confidence) {
  RatioInterval out{.mean = kNone, .low = kNone, .high = kNone, .pairs = log_ratios.size()};
  if (log_ratios.empty()) return out;
  const double mean = mean_value(log_ratios);
  out.mean = std::exp(mean);
  out.log_deviation = kNone;
  if (log_ratios.size() < 2) return out;
  out.log_deviation = deviation_from(log_ratios, mean);
  const double half =
      mean_interval(out.log_deviation, static_cast<unsigned>(log_ratios.size()), confidence);
  out.low = std::exp(mean - half);
  out.high = std::exp(mean + half);
  return out;
}

RatioInterval bootstrap_interval(std::span<const double> log_ratios, const Bootstrap& options) {
  RatioInterval out = ratio_interval(log_ratios, options.confidence);
  if (log_ratios.size() < 2) return out;
  SplitMix random(options.seed);
  std::vector<double> means(options.rounds);
  for (double& mean : means) {
    double sum = 0;
    for (std::size_t i = 0; i < log_ratios.size(); ++i)
      sum += log_ratios[random.below(log_ratios.size())];
    mean = sum / static_cast<double>(log_ratios.size());
  }
  std::ranges::sort(means);
  const double tail = (1 - options.confidence) / 2;
  const auto at = [&](double share) {
    const double last = static_cast<double>(means.size() - 1);
    return std::exp(means[static_cast<std::size_t>(std::lround(share * last))]);
  };
  out.low = at(tail);
  out.high = at(1 - tail);
  return out;
}

std::string_view name_of(Equivalence verdict) {
  return verdict == Equivalence::kWithin      ? "within"
         : verdict == Equivalence::kNotWithin ? "not within"
                                              : "undecided";
}

Equivalence judge(const RatioInterval& interval, double margin) {
  if (interval.low >= 1 - margin && interval.high <= 1 + margin) return Equivalence::kWithin;
  if (interval.low > 1 + margin || interval.high < 1 - margin) return Equivalence::kNotWithin;
  return Equivalence::kUndecided;
}

std::optional<std::size_t> pairs_to_decide(const RatioInterval& interval, double margin,
                                           double confidence) {
  if (!std::isfinite(interval.log_deviation) || interval.pairs < 2) return std::nullopt;
  const double mean = std::log(interval.mean);
  const double room = std::min(std::abs(std::log1p(margin) - mean),  // to the nearer border
                               std::abs(mean - std::log1p(-margin)));
  double pairs = static_cast<double>(interval.pairs);
  // The quantile depends on the pairs, a little; a few rounds settle it.
  for (int i = 0; i < 4; ++i) {
    const double t = student_t_quantile(0.5 + confidence / 2, std::max(1.0, pairs - 1));
    const double wanted = t * interval.log_deviation / room;
    pairs = std::max(wanted * wanted, static_cast<double>(interval.pairs));
    if (!(pairs < kMostPairs)) return std::nullopt;
  }
  return static_cast<std::size_t>(std::ceil(pairs));
}

}  // namespace corral::analyze
