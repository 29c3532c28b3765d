#include "analyze/explain/what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "analyze/explain/rank_steps.h"
#include "core/time.h"

namespace corral::analyze {
namespace {

// The same step of each rank, in seconds.
struct RankTimes {
  double period = 0, wait = 0, comm = 0;
  double entry = 0;  // own time until it needs the others
  [[nodiscard]] double own() const { return std::max(0.0, period - wait - comm); }
};

bool is_bound_by_cpu(const Bottleneck& bottleneck) {
  if (bottleneck.part != BoundPart::kWait) return false;
  switch (bottleneck.resource) {
    case Resource::kCpuQuota:
    case Resource::kSteal:
    case Resource::kCollector:
    case Resource::kOtherPrograms:
    case Resource::kLoaders:
    case Resource::kCpus:
    case Resource::kOneThread:
      return true;
    default:
      return false;
  }
}

// Cores that no other program and no hypervisor took; nullopt: not known.
std::optional<double> available_cpus(const RunData& data, const GivenToRun& given, double used) {
  if (given.cpus.empty()) return std::nullopt;
  double busy = 0;
  for (const int cpu : given.cpus) {
    const MetricMean* one = data.of_source("host.cpu.core.busy", fmt::format("cpu{}", cpu));
    if (one == nullptr) return std::nullopt;
    busy += one->mean;
  }
  double available = static_cast<double>(given.cpus.size()) - std::max(0.0, busy - used);
  if (const MetricMean* steal = data.greatest("host.cpu.steal"); steal != nullptr)
    available -= steal->mean;
  if (const MetricMean* quota = data.greatest("cgroup.cpu.limit"); quota != nullptr)
    available = std::min(available, quota->mean);
  return std::max(available, used);
}

// The share without a CPU of the time in which the busiest thread of a process could run.
double delayed_share(const RunData& data, double process) {
  double busiest = 0, share = 0;
  for (const MetricMean& delay : data.all_of("run.thread.run_delay")) {
    const MetricMean* cpu = data.of_source("run.thread.cpu", delay.source);
    const MetricMean* of = data.of_source("run.thread.process", delay.source);
    const bool may_be = of != nullptr && of->least <= process && process <= of->most;
    if (!may_be || cpu == nullptr || cpu->mean + delay.mean <= busiest) continue;
    busiest = cpu->mean + delay.mean;
    share = delay.mean / busiest;
  }
  return share;
}

RankTimes times_of(const RankStep& step) {
  RankTimes times{
      .period = seconds(step.period()), .wait = seconds(step.wait), .comm = seconds(step.comm)};
  if (step.entry() != RankStep::kNever)
    times.entry = std::max(0.0, seconds(step.entry() - step.begin - step.wait_before));
  return times;
}

struct MatchedSteps {
  std::vector<std::vector<RankStep>> ranks;
  std::vector<std::size_t> numbers;  // the steps that match
  bool all_calls_seen = true;        // no call between ranks may hide in a backward pass
  bool all_enter = true;             // it is known when each rank needs the others
};

// Steps are matched by their order; those of one number that overlap by less than half are left
// out.
MatchedSteps match_steps(const Timeline& timeline, std::span<const LaneLeaves> lanes,
                         Window window) {
  MatchedSteps matched;
  std::vector<std::vector<RankStep>>& ranks = matched.ranks;
  std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const LaneLeaves& lane : lanes) {
    if (!lane.trains) continue;
    ranks.push_back(find_rank_steps(timeline, lane.number));
    most = std::min(most, ranks.back().size());
  }
  for (std::size_t k = 0; k < most && !ranks.empty(); ++k) {
    const RankStep& first = ranks.front()[k];
    if (first.begin < window.from || first.begin >= window.to) continue;
    const auto overlaps = [&](const std::vector<RankStep>& rank) {
      const RankStep& step = rank[k];
      const Nanos shared = std::min(step.next, first.next) - std::max(step.begin, first.begin);
      return 2 * shared >= std::min(step.period(), first.period());
    };
    if (first.period() > Nanos(0) && !std::ranges::all_of(ranks, overlaps)) continue;
    for (const std::vector<RankStep>& rank : ranks) {
      const RankStep& step = rank[k];
      matched.all_calls_seen &= step.backward == RankStep::kNever && step.comm > Nanos(0);
      matched.all_enter &= step.entry() != RankStep::kNever;
    }
    matched.numbers.push_back(k);
  }
  return matched;
}

template <class Value>
double greatest(std::span<const RankTimes> ranks, Value value) {
  double most = value(ranks.front());
  for (const RankTimes& rank : ranks) most = std::max(most, value(rank));
  return most;
}
template <class Value>
double least(std::span<const RankTimes> ranks, Value value) {
  return -greatest(ranks, [&](const RankTimes& rank) { return -value(rank); });
}

// Sums over the steps, to become means.
struct Sums {
  double observed = 0, wait = 0;
  Prediction::Bounds waits, balanced;
};

void add_step(const MatchedSteps& matched, std::size_t k, double remaining, Sums& sums) {
  std::vector<RankTimes> ranks;
  for (const std::vector<RankStep>& rank : matched.ranks) ranks.push_back(times_of(rank[k]));
  const auto n = static_cast<double>(ranks.size());
  double period = 0, sum = 0, inverse = 0;
  const auto own = [&](const RankTimes& rank) {
    return matched.all_calls_seen ? rank.own() : rank.entry;
  };
  for (const RankTimes& rank : ranks) {
    period += rank.period / n;
    sums.wait += rank.wait / n;
    sum += own(rank);
    inverse += own(rank) > 0 ? 1 / own(rank) : std::numeric_limits<double>::infinity();
  }
  sums.observed += period;
  // The last rank to come does not wait for others: its calls are as short as they can be.
  const double call = least(ranks, [](const RankTimes& rank) { return rank.comm; });
  const auto left = [&](const RankTimes& rank) {
    return rank.own() + remaining * rank.wait + call;
  };
  const double slowest = greatest(ranks, left);
  const bool exact = ranks.size() == 1 || matched.all_calls_seen;
  sums.waits.lower_s += exact ? slowest : least(ranks, left);
  sums.waits.upper_s += greatest(ranks, [&](const RankTimes& rank) { return rank.own() + call; });
  const auto arrival = [&](double equal) {
    return greatest(ranks, [&](const RankTimes& rank) { return rank.wait + equal; });
  };
  const double last = greatest(ranks, [&](const RankTimes& rank) { return rank.wait + own(rank); });
  sums.balanced.lower_s += period - std::max(0.0, last - arrival(n / inverse));
  sums.balanced.upper_s += period - std::max(0.0, last - arrival(sum / n));
}

void bound_waits(const Sums& sums, const CpuDemand& cpu, double removed, WhatIf& found) {
  if (sums.wait <= 0) {
    found.without_waits.reason = "no waits were recorded";
    return;
  }
  const double observed = sums.observed;
  Prediction::Bounds bounds{.lower_s = observed, .upper_s = observed};
  if (cpu.used && cpu.available > 0) {
    const double beside = sums.waits.upper_s + *cpu.used / cpu.available * observed;
    bounds.upper_s -= removed * std::max(0.0, observed - beside);
  } else {
    found.without_waits.reason = "the waits are not known to be for CPU time";
  }
  const double delayed = removed * std::clamp(cpu.delayed, 0.0, 1.0);
  bounds.lower_s = std::clamp(sums.waits.lower_s * (1 - delayed), 0.0, bounds.upper_s);
  found.without_waits.step = bounds;
}

void bound_balance(const Sums& sums, const MatchedSteps& matched, WhatIf& found) {
  if (matched.ranks.size() < 2) {
    found.balanced_ranks.reason = "there is one rank";
  } else if (!matched.all_calls_seen && !matched.all_enter) {
    found.balanced_ranks.reason = "it is not known when each rank needs the others";
  } else {
    const double upper = std::clamp(sums.balanced.upper_s, 0.0, sums.observed);
    found.balanced_ranks.step = {.lower_s = std::clamp(sums.balanced.lower_s, 0.0, upper),
                                 .upper_s = upper};
  }
}

std::string sentence(std::string_view condition, const WhatIf& found, const Prediction& made) {
  if (!made.step) return "";
  const std::string lower = precise_duration(made.step->lower_s);
  const std::string upper = precise_duration(made.step->upper_s);
  const std::string observed = precise_duration(found.step_s);
  const std::string_view unit = unit_name(found.unit);
  const std::string_view article = found.unit == Unit::kStep ? "a" : "an";
  if (lower == upper) {
    return fmt::format("{} {} {} would take {} instead of {} (modelled).", condition, article, unit,
                       upper, observed);
  }
  if (upper == observed) {
    return fmt::format("{} {} {} would take {} at least, instead of {} (modelled).", condition,
                       article, unit, lower, observed);
  }
  return fmt::format("{} {} {} would take {} to {} instead of {} (modelled).", condition, article,
                     unit, lower, upper, observed);
}

}  // namespace

CpuDemand find_cpu_demand(std::span<const LaneLeaves> lanes, const RunData& data,
                          const GivenToRun& given, const std::optional<Bottleneck>& bottleneck) {
  CpuDemand demand;
  for (const LaneLeaves& lane : lanes)
    if (const auto process = lane.trains ? process_of_lane(lane.lane) : std::nullopt)
      demand.delayed = std::max(demand.delayed, delayed_share(data, *process));
  const MetricMean* used = data.greatest("run.cpu.used");
  if (used == nullptr || !bottleneck || !is_bound_by_cpu(*bottleneck)) return demand;
  const auto available = available_cpus(data, given, used->mean);
  if (!available) return demand;
  demand.used = used->mean;
  demand.available = *available;
  return demand;
}

std::optional<WhatIf> find_what_if(const Timeline& timeline, std::span<const LaneLeaves> lanes,
                                   Window window, const CpuDemand& cpu, double remaining) {
  const MatchedSteps matched = match_steps(timeline, lanes, window);
  if (matched.numbers.empty()) return std::nullopt;
  Sums sums;
  for (const std::size_t k : matched.numbers) add_step(matched, k, remaining, sums);
  const auto steps = static_cast<double>(matched.numbers.size());
  for (double* sum : {&sums.observed, &sums.wait, &sums.waits.lower_s, &sums.waits.upper_s,
                      &sums.balanced.lower_s, &sums.balanced.upper_s})
    *sum /= steps;
  WhatIf found{.unit = timeline.unit(),
               .step_s = sums.observed,
               .steps = std::ssize(matched.numbers),
               .without_waits = {},
               .balanced_ranks = {},
               .text = {}};
  bound_waits(sums, cpu, 1 - remaining, found);
  bound_balance(sums, matched, found);
  found.text = sentence("Without waits", found, found.without_waits);
  const std::string balanced = sentence("With balanced ranks", found, found.balanced_ranks);
  if (!balanced.empty()) found.text += (found.text.empty() ? "" : " ") + balanced;
  return found;
}

}  // namespace corral::analyze
