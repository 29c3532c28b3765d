#include "analyze/compare/target.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/text.h"
#include "core/time.h"
#include "query/series/cursor.h"

namespace corral::analyze {
namespace {

constexpr std::size_t kMostExact = 100;  // values of which all permutations are counted
constexpr std::array<std::string_view, 4> kSigns = {">=", ">", "<=", "<"};

// Finds the first point that meets a target; buckets that cannot hold an earlier one stay closed.
class FirstReached {
 public:
  FirstReached(query::Cursor& cursor, const Target& target) : cursor_(cursor), target_(target) {}

  Result<std::optional<std::int64_t>> find() {
    TRY(cursor_.descend(*this));
    for (std::size_t i = 0; i < cursor_.chunks(); ++i) add(TRY(cursor_.chunk(i, {})));
    return first_;
  }

  query::Verdict judge(const codec::Bucket& bucket, query::Node) const {
    const bool later = first_ && bucket.t0 >= *first_;
    const bool finite = bucket.count > bucket.not_finite();
    const bool may = finite && (target_.meets(bucket.min) || target_.meets(bucket.max));
    return later || !may ? query::Verdict::kDone : query::Verdict::kDescend;
  }
  Result<> points(query::Node node, const codec::Bucket*) {
    TRY(cursor_.read_all(node, {}, query::GridAxis::kTime,
                         [&](const query::PointSpan& span) { add(span); }));
    return {};
  }

 private:
  void add(const query::PointSpan& span) {
    for (std::size_t i = 0; i < span.size(); ++i) {
      if (first_ && span.times[i] >= *first_) return;
      if (!std::isfinite(span.values[i]) || !target_.meets(span.values[i])) continue;
      first_ = span.times[i];
    }
  }

  query::Cursor& cursor_;
  const Target& target_;
  std::optional<std::int64_t> first_;
};

// The number of ways to choose k of n.
double choices(std::size_t n, std::size_t k) {
  double ways = 1;
  for (std::size_t i = 1; i <= k; ++i)
    ways *= static_cast<double>(n - k + i) / static_cast<double>(i);
  return ways;
}

// Twice the mean rank of each value, from 2 on, so that ties have integers. In the order of `all`.
std::vector<std::size_t> double_ranks(std::span<const double> all) {
  std::vector<std::size_t> order(all.size()), ranks(all.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::size_t i) { return all[i]; });
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && all[order[end]] == all[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = begin + end + 1;
    begin = end;
  }
  return ranks;
}

// The share of all ways to choose `chosen` of the ranks that have the sum or less, and the sum or
// more.
struct Tails {
  double low = 0, high = 0;
};
Tails count_tails(std::span<const std::size_t> ranks, std::size_t chosen, std::size_t sum) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  // ways[k][s]: choices of k ranks among those so far whose sum is s.
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1));
  ways[0][0] = 1;
  for (const std::size_t rank : ranks)
    for (std::size_t k = chosen; k > 0; --k)
      for (std::size_t s = most; s >= rank; --s) ways[k][s] += ways[k - 1][s - rank];
  Tails tails;
  for (std::size_t s = 0; s <= most; ++s) {
    if (s <= sum) tails.low += ways[chosen][s];
    if (s >= sum) tails.high += ways[chosen][s];
  }
  const double all = choices(ranks.size(), chosen);
  return {.low = tails.low / all, .high = tails.high / all};
}

// The normal approximation, corrected for ties and continuity.
double approximate_p(std::span<const std::size_t> ranks, std::size_t chosen, std::size_t sum) {
  const double n = static_cast<double>(ranks.size()), a = static_cast<double>(chosen);
  const double mean = a * (n + 1) / 2;
  double squares = 0;
  for (const std::size_t rank : ranks)
    squares += std::pow(static_cast<double>(rank) / 2 - (n + 1) / 2, 2);
  const double deviation = std::sqrt(a * (n - a) * squares / (n * (n - 1)));
  const double distance = std::abs(static_cast<double>(sum) / 2 - mean) - 0.5;
  if (!(deviation > 0) || distance <= 0) return 1;
  return std::erfc(distance / deviation / std::sqrt(2.0));
}

// Misses above all times.
std::vector<double> ranked(std::span<const TargetTime> times) {
  std::vector<double> values;
  for (const TargetTime& time : times)
    values.push_back(time.reached ? time.seconds : std::numeric_limits<double>::infinity());
  return values;
}

double restricted_mean(std::span<const TargetTime> times, double budget) {
  double sum = 0;
  for (const TargetTime& time : times)
    sum += time.reached ? std::min(time.seconds, budget) : budget;
  return sum / static_cast<double>(times.size());
}

std::size_t count_reached(std::span<const TargetTime> times) {
  return static_cast<std::size_t>(std::ranges::count(times, true, &TargetTime::reached));
}

}  // namespace

bool Target::meets(double value) const {
  switch (is) {
    case Is::kAtLeast:
      return value >= bound;
    case Is::kAbove:
      return value > bound;
    case Is::kAtMost:
      return value <= bound;
    case Is::kBelow:
      break;
  }
  return value < bound;
}

std::optional<Target> parse_target(std::string_view text) {
  const std::size_t at = text.find_last_of("<>");
  if (at == std::string_view::npos) return std::nullopt;
  const bool equal = text.substr(at + 1).starts_with('=');
  const auto bound = parse_double(trim(text.substr(at + (equal ? 2 : 1))));
  const std::string_view metric = trim(text.substr(0, at));
  if (metric.empty() || !bound || !std::isfinite(*bound)) return std::nullopt;
  const bool greater = text[at] == '>';
  return Target{.metric = std::string(metric),
                .is = greater ? (equal ? Target::Is::kAtLeast : Target::Is::kAbove)
                              : (equal ? Target::Is::kAtMost : Target::Is::kBelow),
                .bound = *bound};
}

std::string print_target(const Target& target) {
  return fmt::format("{} {} {}", target.metric, kSigns.at(static_cast<std::size_t>(target.is)),
                     target.bound);
}

Result<TargetSearch> search_target(const store::Reader& store, RunId run, const Target& target) {
  TargetSearch found;
  for (const store::Series& series : TRY(store.series_of(run))) {
    if (series.name != target.metric || series.owner != metric::Owner::kRun) continue;
    if (!series.last || !series.source.empty()) continue;
    found.has_values = true;
    const auto read = [&](store::PointView& view) -> Result<> {
      query::Cursor cursor(view, series.id, store::Channel::kValue);
      const auto first = TRY(FirstReached(cursor, target).find());
      if (first && (!found.reached || utc_time(*first) < *found.reached))
        found.reached = utc_time(*first);
      return {};
    };
    TRY(store.view(std::span(&series.id, 1), read));
  }
  return found;
}

RankTest rank_test(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  const std::vector<std::size_t> ranks = double_ranks(all);
  const auto end_of_a = ranks.begin() + static_cast<std::ptrdiff_t>(a.size());
  const std::size_t sum = std::accumulate(ranks.begin(), end_of_a, std::size_t{0});
  const std::size_t rest = std::accumulate(end_of_a, ranks.end(), std::size_t{0});
  RankTest found{.later = (static_cast<double>(rest) / static_cast<double>(b.size()) -
                           static_cast<double>(sum) / static_cast<double>(a.size())) /
                          2};
  if (all.size() > kMostExact) {
    found.p = approximate_p(ranks, a.size(), sum);
  } else {
    const Tails tails = count_tails(ranks, a.size(), sum);
    found.p = std::min(1.0, 2 * std::min(tails.low, tails.high));
  }
  return found;
}

std::vector<double> adjust_by_holm(std::span<const double> p) {
  std::vector<double> out(p.begin(), p.end());
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    out[order[i]] = least;
  }
  return out;
}

TargetDifference compare_times(std::span<const TargetTime> a, std::span<const TargetTime> b) {
  TargetDifference found{
      .reached_a = count_reached(a), .reached_b = count_reached(b), .a = a.size(), .b = b.size()};
  found.least_p = 2 / choices(a.size() + b.size(), a.size());
  const TargetTime *miss = nullptr, *latest = nullptr;
  for (const auto& side : {a, b})
    for (const TargetTime& time : side) {
      const TargetTime*& one = time.reached ? latest : miss;
      const bool better = one == nullptr || (time.reached ? time.seconds > one->seconds
                                                          : time.seconds < one->seconds);
      if (better) one = &time;
    }
  found.budget_s = miss != nullptr ? miss->seconds : latest->seconds;
  found.mean_a_s = restricted_mean(a, found.budget_s);
  found.mean_b_s = restricted_mean(b, found.budget_s);
  if (miss != nullptr && latest != nullptr && latest->seconds > miss->seconds) {
    found.problem = fmt::format("{} ended after {} without reaching it, {} reached it after {}.",
                                printable(miss->name), precise_duration(miss->seconds),
                                printable(latest->name), precise_duration(latest->seconds));
    return found;
  }
  const RankTest test = rank_test(ranked(a), ranked(b));
  found.p = test.p;
  found.later = test.later;
  return found;
}

}  // namespace corral::analyze
