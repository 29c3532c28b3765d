#include "analyze/compare/ratio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "analyze/split_mix.h"
#include "analyze/student_t.h"

namespace corral::analyze {
namespace {

constexpr double kNone = LogRatio::kNone;
constexpr std::size_t kMostPairs = 1'000'000;
constexpr double kRounding = 1e-12;  // logarithms that differ by less are equal

// NaN for fewer than two.
double variance_of(std::span<const double> values) {
  if (values.size() < 2) return kNone;
  const double mean = mean_of_logs(values);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return squares / static_cast<double>(values.size() - 1);
}

struct Sample {
  double deviation = 0;  // LogRatio::deviation
  std::size_t values = 0;
  bool pairs = false;
};

// The values on each side that give an interval of this half width, at least those of the sample.
std::optional<std::size_t> enough_for(double half_width, const Sample& sample, double confidence) {
  const auto is_enough = [&](std::size_t n) {
    const double values = static_cast<double>(n);
    const double degrees = sample.pairs ? values - 1 : 2 * values - 2;
    const double t = student_t_quantile(0.5 + confidence / 2, std::max(1.0, degrees));
    return t * sample.deviation <= half_width * std::sqrt(values);
  };
  std::size_t enough = std::max<std::size_t>(2, sample.values), few = enough - 1;
  while (!is_enough(enough)) {
    few = enough;
    enough *= 2;
    if (enough > kMostPairs) return std::nullopt;
  }
  while (enough - few > 1) {
    const std::size_t middle = few + (enough - few) / 2;
    (is_enough(middle) ? enough : few) = middle;
  }
  return enough;
}

}  // namespace

// From the first value on, so that the mean of equal values is that value to the last bit.
double mean_of_logs(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value - values.front();
  return values.front() + sum / static_cast<double>(values.size());
}

LogRatio log_ratio_of_groups(std::span<const double> logs_a, std::span<const double> logs_b) {
  LogRatio out{.a = logs_a.size(), .b = logs_b.size()};
  if (logs_a.empty() || logs_b.empty()) return out;
  out.log = mean_of_logs(logs_b) - mean_of_logs(logs_a);
  if (logs_a.size() < 2 || logs_b.size() < 2) return out;
  const double a = variance_of(logs_a), b = variance_of(logs_b);
  const double na = static_cast<double>(out.a), nb = static_cast<double>(out.b);
  const double sum = a / na + b / nb;
  out.error = std::sqrt(sum);
  out.deviation = std::sqrt(a + b);
  const double parts = a * a / (na * na * (na - 1)) + b * b / (nb * nb * (nb - 1));
  out.degrees = parts > 0 ? sum * sum / parts : na + nb - 2;
  return out;
}

LogRatio log_ratio_of_pairs(std::span<const double> log_ratios) {
  LogRatio out{.a = log_ratios.size(), .b = log_ratios.size(), .paired = true};
  if (log_ratios.empty()) return out;
  out.log = mean_of_logs(log_ratios);
  if (log_ratios.size() < 2) return out;
  out.deviation = std::sqrt(variance_of(log_ratios));
  out.error = out.deviation / std::sqrt(static_cast<double>(out.a));
  out.degrees = static_cast<double>(out.a - 1);
  return out;
}

RatioInterval interval_of(const LogRatio& ratio, double confidence) {
  RatioInterval out{.mean = std::exp(ratio.log),
                    .low = kNone,
                    .high = kNone,
                    .log_deviation = ratio.deviation,
                    .pairs = std::min(ratio.a, ratio.b)};
  if (std::isnan(ratio.error)) return out;
  const double half = student_t_quantile(0.5 + confidence / 2, ratio.degrees) * ratio.error;
  out.low = std::exp(ratio.log - half);
  out.high = std::exp(ratio.log + half);
  return out;
}

RatioInterval ratio_interval(std::span<const double> log_ratios, double confidence) {
  return interval_of(log_ratio_of_pairs(log_ratios), confidence);
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
  const double low = 1 / (1 + margin), high = 1 + margin;
  if (interval.low >= low && interval.high <= high) return Equivalence::kWithin;
  if (interval.low > high || interval.high < low) return Equivalence::kNotWithin;
  return Equivalence::kUndecided;
}

std::optional<std::size_t> pairs_to_decide(const RatioInterval& interval, double margin,
                                           double confidence) {
  if (!std::isfinite(interval.log_deviation) || interval.pairs < 2) return std::nullopt;
  // To the nearer border.
  const double room = std::abs(std::log1p(margin) - std::abs(std::log(interval.mean)));
  return enough_for(room,
                    {.deviation = interval.log_deviation, .values = interval.pairs, .pairs = true},
                    confidence);
}

std::optional<std::size_t> values_for_width(const LogRatio& ratio, double margin,
                                            double confidence) {
  if (!std::isfinite(ratio.deviation)) return std::nullopt;
  return enough_for(
      std::log1p(margin),
      {.deviation = ratio.deviation, .values = std::min(ratio.a, ratio.b), .pairs = ratio.paired},
      confidence);
}

RatioTests test_ratio(const LogRatio& ratio, double margin) {
  if (!(ratio.error >= 0)) return {};
  // P(T > distance / error).
  const auto beyond = [&](double distance) {
    if (ratio.error < kRounding) return distance > kRounding ? 0.0 : 1.0;
    return student_t_cdf(-distance / ratio.error, ratio.degrees);
  };
  const double bound = std::log1p(margin), size = std::abs(ratio.log);
  return {.different = std::min(1.0, 2 * beyond(size)), .equivalent = beyond(bound - size)};
}

std::vector<RatioTests> adjust_family(std::span<const RatioTests> family) {
  std::vector<RatioTests> out(family.begin(), family.end());
  std::vector<double*> by_p;
  for (RatioTests& tests : out) by_p.insert(by_p.end(), {&tests.different, &tests.equivalent});
  std::ranges::sort(by_p, std::less(), [](const double* p) { return *p; });
  double least = 0;
  for (std::size_t i = 0; i < by_p.size(); ++i) {
    const double may_be_true = static_cast<double>(std::min(family.size(), by_p.size() - i));
    least = std::max(least, std::min(1.0, *by_p[i] * may_be_true));
    *by_p[i] = least;
  }
  return out;
}

std::string_view verdict_name(RatioVerdict verdict) {
  constexpr std::array<std::string_view, 7> kNames = {
      "too few",        "inconclusive", "less",
      "greater",        "equivalent",   "different within the margin",
      "unequal budgets"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

RatioVerdict judge_ratio(const LogRatio& ratio, const RatioTests& tests) {
  if (!(ratio.error >= 0)) return RatioVerdict::kTooFew;
  const bool different = tests.different < kSignificant;
  if (tests.equivalent < kSignificant)
    return different ? RatioVerdict::kWithinMargin : RatioVerdict::kEquivalent;
  if (!different) return RatioVerdict::kInconclusive;
  return ratio.log < 0 ? RatioVerdict::kLess : RatioVerdict::kGreater;
}

}  // namespace corral::analyze
