#include "analyze/explain/slow_rank.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "analyze/epochs.h"
#include "analyze/explain/rank_steps.h"
#include "core/time.h"

namespace corral::analyze {
namespace {

constexpr double kLate = 0.05;  // part of a step
constexpr double kErrors = 3;   // times the error of the clocks
constexpr std::size_t kLeastSteps = 10;

struct Rank {
  std::int64_t number = 0;
  const LaneLeaves* lane = nullptr;
  std::vector<RankStep> steps;
  Nanos clock_error{0};
};

std::string host_of(const LaneLeaves& lane) { return lane.lane.substr(0, lane.lane.find('/')); }

std::map<std::string, std::vector<Rank>> ranks_of_hosts(std::span<const LaneLeaves> lanes) {
  std::map<std::string, std::vector<Rank>> hosts;
  for (const LaneLeaves& lane : lanes) {
    const auto number = lane_rank(lane.lane);
    if (lane.trains && number)
      hosts[host_of(lane)].push_back({.number = *number, .lane = &lane, .steps = {}});
  }
  return hosts;
}

struct Entries {
  std::vector<UtcTime> times;  // by rank; empty: they cannot be compared
  bool backward = true;        // else the first call between ranks
};

// When each rank enters the backward pass of step `k`, if all do so in the same way at the same
// time.
Entries enter_times(const std::vector<Rank>& ranks, std::size_t k) {
  const auto all = [&](auto has) {
    return std::ranges::all_of(ranks, [&](const Rank& rank) { return has(rank.steps[k]); });
  };
  const bool backward = all([](const RankStep& step) { return step.backward != RankStep::kNever; });
  if (!backward && !all([](const RankStep& step) { return step.call != RankStep::kNever; }))
    return {};
  std::vector<UtcTime> times;
  UtcTime latest_begin = UtcTime::min(), earliest_end = UtcTime::max();
  Nanos shortest = Nanos::max();
  for (const Rank& rank : ranks) {
    const RankStep& step = rank.steps[k];
    latest_begin = std::max(latest_begin, step.begin);
    earliest_end = std::min(earliest_end, step.end);
    shortest = std::min(shortest, step.end - step.begin);
    times.push_back(backward ? step.backward : step.call);
  }
  // A rank whose recording lacks a step is one step ahead from there on.
  if (2 * (earliest_end - latest_begin) < shortest) return {};
  return {.times = std::move(times), .backward = backward};
}

// The lower one of the two in the middle, so that ranks that are late in turn are not late.
double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::optional<SlowRank> find_among(const std::vector<Rank>& ranks, Window window) {
  SlowRank slowest;
  std::vector<std::vector<double>> late(ranks.size()), lengths(ranks.size());
  const std::size_t steps =
      std::ranges::min(ranks, {}, [](const Rank& rank) { return rank.steps.size(); }).steps.size();
  for (std::size_t k = 0; k < steps; ++k) {
    const RankStep& of_first = ranks.front().steps[k];
    if (of_first.begin < window.from || of_first.begin >= window.to) continue;
    const auto [times, backward] = enter_times(ranks, k);
    if (times.empty()) continue;
    slowest.by_call |= !backward;
    const UtcTime earliest = std::ranges::min(times);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      late[i].push_back(seconds(times[i] - earliest));
      lengths[i].push_back(seconds(ranks[i].steps[k].end - ranks[i].steps[k].begin));
    }
  }
  if (late.front().size() < kLeastSteps) return std::nullopt;
  slowest.steps = std::ssize(late.front());
  // Any of the ranks may be the earliest one.
  const Nanos error_of_first = std::ranges::max(ranks, {}, &Rank::clock_error).clock_error;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double median = median_of(late[i]);
    const double length = median_of(std::move(lengths[i]));
    const Nanos error = ranks[i].clock_error + error_of_first;
    if (length <= 0 || median / length <= std::max(kLate, slowest.share)) continue;
    if (median <= kErrors * seconds(error)) continue;
    slowest.lane = ranks[i].lane->lane;
    slowest.rank = ranks[i].number;
    slowest.late_s = median;
    slowest.share = median / length;
    slowest.clock_error = error;
  }
  return slowest.share > 0 ? std::optional(std::move(slowest)) : std::nullopt;
}

std::string words_of(const SlowRank& found) {
  std::string late = precise_duration(found.late_s);
  if (found.clock_error > Nanos(0))
    late +=
        fmt::format(" (± {} by the hosts' clocks)", precise_duration(seconds(found.clock_error)));
  return fmt::format(
      "Rank {} is late: it {} {} after the first rank, {:.0f} % of a step.", found.rank,
      found.by_call ? "comes to its first call between ranks" : "enters its backward pass", late,
      found.share * 100);
}

}  // namespace

std::optional<SlowRank> find_slow_rank(const Timeline& timeline, std::span<const LaneLeaves> lanes,
                                       Window window) {
  if (timeline.unit() != Unit::kStep) return std::nullopt;
  std::optional<SlowRank> slowest;
  const auto compare = [&](const std::vector<Rank>& ranks) {
    if (ranks.size() < 2) return;
    auto found = find_among(ranks, window);
    if (found && (!slowest || found->share > slowest->share)) slowest = std::move(found);
  };
  auto hosts = ranks_of_hosts(lanes);
  const bool together = hosts.size() > 1 && hosts_without_clock(timeline, lanes).empty();
  std::vector<Rank> all;
  for (auto& [host, ranks] : hosts) {
    if (ranks.size() < 2 && !together) continue;
    for (Rank& rank : ranks) rank.steps = find_rank_steps(timeline, rank.lane->number);
    compare(ranks);
    for (Rank& rank : ranks)
      rank.clock_error = timeline.clocks().error(host, window.from, window.to).value_or(Nanos(0));
    if (together) std::ranges::move(ranks, std::back_inserter(all));
    ranks.clear();
  }
  compare(all);
  if (slowest) slowest->text = words_of(*slowest);
  return slowest;
}

std::vector<std::string> hosts_without_clock(const Timeline& timeline,
                                             std::span<const LaneLeaves> lanes) {
  const auto hosts = ranks_of_hosts(lanes);
  std::vector<std::string> without;
  if (hosts.size() < 2) return without;
  for (const auto& [host, ranks] : hosts)
    if (!timeline.clocks().by_host().contains(host)) without.push_back(host);
  return without;
}

}  // namespace corral::analyze
